/** What the server, or the way to it, has against a request. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status; 0: there was no answer. */
  readonly status: number;
  /** Stable code of the error table; `unreachable` when there was no answer. */
  readonly code: string;
  /** What to do about it; '' when nothing is known. */
  readonly fix: string;

  constructor(status: number, code: string, message: string, fix = '') {
    super(message);
    this.status = status;
    this.code = code;
    this.fix = fix;
  }
}

/** What does not answer, or cannot now, does again; what is refused stays so. */
export function passes({ status }: ApiError): boolean {
  return status === 0 || status >= 500 || status === 429;
}

/** Of whatever was thrown. */
export function apiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (typeof thrown === 'object' && thrown !== null && 'code' in thrown && 'message' in thrown) {
    const fix = 'fix' in thrown ? String(thrown.fix) : '';
    return new ApiError(0, String(thrown.code), String(thrown.message), fix);
  }
  return new ApiError(0, 'internal', thrown instanceof Error ? thrown.message : String(thrown));
}

/** Of an answer that is none of 2xx. */
export async function refusal(response: Response): Promise<ApiError> {
  const code = response.headers.get('x-muster-error') ?? `http_${response.status}`;
  const fix = response.headers.get('x-muster-fix') ?? '';
  return new ApiError(response.status, code, await messageOf(response), fix);
}

async function messageOf(response: Response): Promise<string> {
  const text = await response.text().catch(() => '');
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null) {
      if ('error' in body) return [body.error].flat().map(String).join(' ');
      // As clients of Agave get it.
      if ('message' in body && typeof body.message === 'string') return body.message;
      // As clients of Disbatch get it.
      if ('status' in body && typeof body.status === 'string') return body.status;
    }
  } catch {
    // Not ours: a proxy's page, which is of no use here.
  }
  return `the server answered ${response.status}`;
}
