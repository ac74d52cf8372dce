// The servers of an address: they are asked in turn, and what one leaves unanswered another is asked.

import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client';

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

/** What is asked of a ClickHouse: of one server, or of whichever of several answers. */
export type Asked = Pick<ClickHouseClient, 'query' | 'command' | 'insert' | 'exec' | 'ping'>;

/** One of them, at an address of its own. */
export type Server = Asked & { readonly url: string };

/** A connection to the servers of an address. */
export interface Warehouse extends Asked {
  /**
   * Asks a server, and the next one where that goes away meanwhile: the first may have done it all the same, so that it is done
   * twice. `signal` is that of whoever asks.
   */
  attempt<T>(ask: (server: Server) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Each of them by itself. */
  readonly servers: readonly Server[];
  /** Those that are not known to be away. */
  alive(): readonly Server[];
  close(): Promise<void>;
}

/** A server with what watches it. */
export interface WatchedServer {
  client: Server;
  isAlive(): boolean;
  /** Rejects as soon as the server is found to be away. */
  guard<T>(ask: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** A replica without its Keeper: TABLE_IS_READ_ONLY, KEEPER_EXCEPTION. All else that a server answers, another would too. */
const OF_THE_SERVER = new Set(['242', '999']);
/** A server that is away is found out sooner, and what takes one too long would take another as long. */
const isTooSlow = ({ name, message }: Error): boolean => name === 'TimeoutError' || message === 'Timeout error.';

function isAway(error: unknown): boolean {
  if (error instanceof ClickHouseError) return OF_THE_SERVER.has(error.code);
  return !(error instanceof Error && isTooSlow(error));
}

/** @param first Which is asked first, from 0: processes that begin with different ones share their work among them. */
export function connectServers(servers: readonly WatchedServer[], first: number): Warehouse {
  let turn = first;

  async function attempt<T>(ask: (server: Server) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const from = turn++;
    let failure: unknown = new Error('no server answers');
    for (let index = 0; index < servers.length; index++) {
      const server = servers[(from + index) % servers.length];
      if (!server?.isAlive()) continue;
      try {
        return await server.guard(() => ask(server.client));
      } catch (error) {
        if (signal?.aborted || !isAway(error)) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  const clients = servers.map(({ client }) => client);
  const alive = (): Server[] => servers.flatMap((server) => (server.isAlive() ? [server.client] : []));
  return {
    attempt,
    servers: clients,
    alive,
    query: ((asked) => attempt((server) => server.query(asked), asked.abort_signal)) as ClickHouseClient['query'],
    command: (asked) => attempt((server) => server.command(asked), asked.abort_signal),
    insert: ((asked) => attempt((server) => server.insert(asked), asked.abort_signal)) as ClickHouseClient['insert'],
    exec: ((asked) => attempt((server) => server.exec(asked), asked.abort_signal)) as ClickHouseClient['exec'],
    ping: (asked) => {
      const [one, ...others] = clients;
      if (one !== undefined && others.length === 0) return one.ping(asked);
      const [success, error] = [alive().length > 0, new Error('no server answers')];
      return Promise.resolve(success ? { success } : { success, error });
    },
    async close() {
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}
