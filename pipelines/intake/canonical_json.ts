/** JSON with every object's keys sorted, so that equal values give equal text whatever order they were written in. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    const written = members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
    return `{${written.sort().join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}
