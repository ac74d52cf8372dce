/** JSON with every object's keys sorted, so that equal values give equal text whatever order they were written in. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = value as Readonly<Record<string, unknown>>;
  let text = '';
  for (const key of Object.keys(members).sort()) {
    if (members[key] !== undefined) text += `,${JSON.stringify(key)}:${canonicalJson(members[key])}`;
  }
  return `{${text.slice(1)}}`;
}
