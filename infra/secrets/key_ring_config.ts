import { type KeyRing, parseKeyRing } from './key_ring.ts';
import { loadOrCreateLocalKeyRing } from './local_key_ring.ts';

/**
 * The key ring of this process: `SECRETS_KEYS` where it is set, else the one kept in the local data folder. Every
 * process of an installation must come to the same ring, as one seals what another opens.
 *
 * @throws KeyRingError when what is configured or kept cannot be read.
 */
export async function openKeyRing(
  env: Readonly<Record<string, string | undefined>>,
  dataDirectory: string,
): Promise<KeyRing> {
  const configured = env['SECRETS_KEYS'];
  return configured ? parseKeyRing(configured) : await loadOrCreateLocalKeyRing(dataDirectory);
}
