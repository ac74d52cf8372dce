// What CLICKHOUSE_URL may be: one server, or several of a cluster that share user, password and database.

/** The text is no address of ClickHouse; it may hold a password and is not quoted. */
class ClickhouseAddressError extends Error {
  readonly code = 'clickhouse_address_invalid';
}

const FORM = /^(?<scheme>https?:\/\/)(?<login>[^/?@]*@)?(?<hosts>[^/?@]+)(?<rest>[/?].*)?$/;

/**
 * Reads `http(s)://user:password@host:port,host:port/database` as the URL of each server, in the order in which they are named.
 *
 * @throws ClickhouseAddressError
 */
export function readClickhouseAddress(address: string): [string, ...string[]] {
  const { scheme = '', login = '', hosts = '', rest = '' } = FORM.exec(address)?.groups ?? {};
  const [first, ...others] = hosts.split(',').map((host) => `${scheme}${login}${host}${rest}`);
  if (first === undefined || ![first, ...others].every((url) => URL.canParse(url)))
    throw new ClickhouseAddressError('not an http or https URL with one host and port or several');
  return [first, ...others];
}

export function isClickhouseAddress(address: string): boolean {
  try {
    return readClickhouseAddress(address).length > 0;
  } catch {
    return false;
  }
}

/** User, password and database; `default` where the address names no user or no database. */
export function readClickhouseLogin(address: string): Record<'username' | 'password' | 'database', string> {
  const { username, password, searchParams, pathname } = new URL(readClickhouseAddress(address)[0]);
  return {
    username: decodeURIComponent(username) || 'default',
    password: decodeURIComponent(password),
    database: searchParams.get('database') ?? (pathname.slice(1) || 'default'),
  };
}
