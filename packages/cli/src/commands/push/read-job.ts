import type { Job } from '../../api.js';
import type { Call } from '../../shell.js';

export function readJob(call: Call<object>, id: string, more: { readonly include_file?: boolean } = {}): Promise<Job> {
  return call.client.get<Job>(call.client.inOrg('pushy', 'jobs', id), { detail: true, ...more });
}
