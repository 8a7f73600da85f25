/** See `mutations.mjs`. */
export interface Mutation {
  readonly name: string;
  readonly by: 'push' | 'fabric' | 'store' | 'tasks' | 'jobs';
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export const MUTATIONS: readonly Mutation[];
