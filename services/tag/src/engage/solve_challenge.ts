/** What the edge asks for in doubt: the number whose SHA-256 with the salt is known (ALTCHA's scheme). */
export interface Challenge {
  salt: string;
  challenge: string;
  maxnumber: number;
  signature: string;
}

const AT_ONCE = 1000;

async function digestOf(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Finds the number; -1 where there is none. Rejects in a page that is not secure: it has no SHA-256. */
export async function solve({ salt, challenge, maxnumber }: Challenge): Promise<number> {
  for (let from = 0; from <= maxnumber; from += AT_ONCE) {
    const digests = await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => digestOf(`${salt}${from + at}`)));
    const found = digests.indexOf(challenge);
    if (found >= 0) return from + found;
  }
  return -1;
}
