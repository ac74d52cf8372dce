const JSON_START = /^\s*[[{]/;

/** What a text says that is itself JSON, as tag managers send whole objects; null where it is none. */
export function jsonIn(text: string): object | null {
  return mayBeJson(text) ? parseJson(text) : null;
}

function mayBeJson(text: string): boolean {
  const first = text.charCodeAt(0);
  if (first > 0x20 && first !== 0x7b && first !== 0x5b) return false;
  return JSON_START.test(text);
}

function parseJson(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
