/** A request that is answered with an error in the words of the original: 400 unless the status says otherwise. */
export class Refusal extends Error {
  readonly status: number;
  readonly body: unknown;

  constructor(body: unknown, status = 400) {
    super(typeof body === 'string' ? body : JSON.stringify(body));
    this.status = status;
    this.body = typeof body === 'string' ? { error: body } : body;
  }
}
