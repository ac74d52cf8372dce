import { COMPATIBILITY } from '@kafkajs/confluent-schema-registry';

const HEADERS = { 'content-type': 'application/vnd.schemaregistry.v1+json' };
const TIMEOUT_MS = 10_000;

/**
 * Sets a subject to BACKWARD_TRANSITIVE if nobody has chosen a compatibility. The client does so only after it has
 * registered the first schema: a crash between the two would leave the subject with the registry's default for ever.
 */
export async function chooseCompatibility(url: string, subject: string): Promise<void> {
  const address = `${url}/config/${encodeURIComponent(subject)}`;
  const found = await fetch(address, { headers: HEADERS, signal: AbortSignal.timeout(TIMEOUT_MS) });
  const body = (await found.json()) as { compatibilityLevel?: string };
  const chosen = found.ok && body.compatibilityLevel !== COMPATIBILITY.NONE;
  if (chosen || (!found.ok && found.status !== 404)) return;
  await fetch(address, {
    method: 'PUT',
    headers: HEADERS,
    body: JSON.stringify({ compatibility: COMPATIBILITY.BACKWARD_TRANSITIVE }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
}
