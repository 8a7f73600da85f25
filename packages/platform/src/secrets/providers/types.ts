/** What one organization asks a provider for. */
export interface Wanted {
  readonly organization: string;
  /** As the secret names it; it was checked (`isReference`). */
  readonly reference: string;
}

/** Where values are kept that Muster does not keep. */
export interface SecretProvider {
  /** @throws ProviderRefusal; its message says why and holds nothing secret */
  fetch(wanted: Wanted): Promise<string>;
}

/** Why there is no value, for people. */
export class ProviderRefusal extends Error {
  override readonly name = 'ProviderRefusal';
}
