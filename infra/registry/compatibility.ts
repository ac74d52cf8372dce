import { COMPATIBILITY } from '@kafkajs/confluent-schema-registry';

const HEADERS = { 'content-type': 'application/vnd.schemaregistry.v1+json' };

/**
 * Sets a subject to BACKWARD_TRANSITIVE if nobody has chosen a compatibility. The client does so only after it has
 * registered the first schema: a crash between the two would leave the subject with the registry's default for ever.
 */
export async function chooseCompatibility(url: string, subject: string, timeoutMs: number): Promise<void> {
  const address = `${url}/config/${encodeURIComponent(subject)}`;
  const found = await fetch(address, { headers: HEADERS, signal: AbortSignal.timeout(timeoutMs) });
  const body = (await found.json()) as { compatibilityLevel?: string };
  const chosen = found.ok && body.compatibilityLevel !== COMPATIBILITY.NONE;
  if (chosen || (!found.ok && found.status !== 404)) return;
  await fetch(address, {
    method: 'PUT',
    headers: HEADERS,
    body: JSON.stringify({ compatibility: COMPATIBILITY.BACKWARD_TRANSITIVE }),
    signal: AbortSignal.timeout(timeoutMs),
  });
}
