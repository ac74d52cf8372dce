// What REDIS_URL may be: one server, the nodes of a cluster, or the Sentinels that know the master.

/** Where Redis is, and as whom to sign in. */
export type RedisAddress = Login &
  (
    | { kind: 'server'; nodes: [RedisNode]; database: number }
    | { kind: 'cluster'; nodes: RedisNode[] }
    | { kind: 'sentinel'; nodes: RedisNode[]; master: string; database: number; sentinel: Credentials }
  );

interface RedisNode {
  host: string;
  port: number;
}

interface Credentials {
  username?: string;
  password?: string;
}

interface Login extends Credentials {
  isTls: boolean;
}

/** The text is no address of Redis; it may hold a password and is not quoted. */
class RedisAddressError extends Error {
  readonly code = 'redis_address_invalid';
}

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26379;
const FORM =
  /^redis(?<tls>s?)(?<sentinel>\+sentinel)?:\/\/(?<authority>[^/?]+)(?:\/(?<path>[^?]*))?(?:\?(?<query>.*))?$/;
const NODE = /^(?<host>\[[0-9A-Fa-f:.]+\]|[^:[\]]+)(?::(?<port>\d{1,5}))?$/;

/**
 * Reads `redis://user:password@host:port/database`, the same with several `host:port` separated by commas, which are nodes
 * of a cluster, or `redis+sentinel://user:password@host:port,host:port/master/database?username=&password=`, whose query
 * signs in to the Sentinels; with `rediss` all by TLS.
 *
 * @param isCluster Whether a single node is one of a cluster.
 * @throws RedisAddressError
 */
export function readRedisAddress(url: string, isCluster = false): RedisAddress {
  const { tls, sentinel, authority = '', path = '', query = '' } = FORM.exec(url)?.groups ?? {};
  const at = authority.lastIndexOf('@');
  const nodes = authority
    .slice(at + 1)
    .split(',')
    .map((text) => nodeOf(text, sentinel === undefined ? REDIS_PORT : SENTINEL_PORT));
  const login = { ...(at < 0 ? {} : loginOf(authority.slice(0, at))), isTls: tls === 's' };
  const [first, second = ''] = path.split('/');
  if (sentinel !== undefined) {
    if (first === undefined || first === '') throw new RedisAddressError('the name of the master is missing');
    const asked = new URLSearchParams(query);
    const [username, password] = [asked.get('username'), asked.get('password')];
    const credentials = { ...(username === null ? {} : { username }), ...(password === null ? {} : { password }) };
    return {
      kind: 'sentinel',
      ...login,
      nodes,
      master: decoded(first),
      database: databaseOf(second),
      sentinel: credentials,
    };
  }
  const database = databaseOf(first ?? '');
  const [node] = nodes;
  if (node !== undefined && nodes.length === 1 && !isCluster)
    return { kind: 'server', ...login, nodes: [node], database };
  if (database !== 0) throw new RedisAddressError('a cluster has no databases');
  return { kind: 'cluster', ...login, nodes };
}

/** Whether two addresses are of the same servers; an empty one is of none. @throws RedisAddressError */
export function leadsToSame(first: string, second: string): boolean {
  if (first === '' || second === '') return false;
  const [one, other] = [readRedisAddress(first), readRedisAddress(second)];
  return JSON.stringify(one.nodes) === JSON.stringify(other.nodes);
}

function nodeOf(text: string, defaultPort: number): RedisNode {
  const { host, port } = NODE.exec(text)?.groups ?? {};
  if (host === undefined) throw new RedisAddressError('not a host and port');
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: port === undefined ? defaultPort : Number(port) };
}

function loginOf(text: string): Credentials {
  const at = text.indexOf(':');
  const [username, password] = at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
  return {
    ...(username === '' ? {} : { username: decoded(username) }),
    ...(password === '' ? {} : { password: decoded(password) }),
  };
}

function databaseOf(text: string): number {
  if (!/^\d*$/.test(text)) throw new RedisAddressError('not the number of a database');
  return Number(text);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
