/** Names of values in ready.json that are secrets as a whole. */
const SECRET_NAME = /^(?:serverKey|password|secret|token)$/;

/**
 * The facts of ready.json as they may stand in a log: in place of each secret it says where it is. The standard output of a
 * service is kept by whatever runs it, where more people read than may read ready.json.
 */
export function withoutSecrets<T>(facts: T, file: string): T {
  return hidden(facts, '', `(in ${file})`) as T;
}

function hidden(value: unknown, name: string, instead: string): unknown {
  if (Array.isArray(value)) return value.map((one) => hidden(one, name, instead));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, hidden(one, key, instead)]));
  }
  if (typeof value !== 'string') return value;
  if (SECRET_NAME.test(name)) return instead;
  const url = URL.canParse(value) ? new URL(value) : null;
  return url === null || url.password === '' ? value : value.replace(`:${url.password}@`, `:${instead}@`);
}
