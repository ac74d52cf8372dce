// Who the shopper is, by the request that a server got of them.
import type { Shopper } from './event.ts';

/** Headers as the platforms have them: a Fetch `Headers`, or an object with names in lower case. */
type HeadersLike = { get(name: string): string | null } | Readonly<Record<string, string | string[] | undefined>>;

/** A Fetch `Request`, an `IncomingMessage` of Node, or a request of Express or Fastify. */
export interface RequestLike {
  readonly headers: HeadersLike;
  readonly socket?: { readonly remoteAddress?: string | undefined } | null | undefined;
  /** Express's and Fastify's: by their own setting of trusted proxies. */
  readonly ip?: unknown;
}

export interface RequestOptions {
  /**
   * Who says the shopper's address. `false`, the default: the connection alone, or the framework by its own setting. A number:
   * so many proxies of yours stand in front, each of which adds to `X-Forwarded-For`. A header's name: your platform sets it
   * itself, whatever the client sent, as `cf-connecting-ip`.
   */
  trustProxy?: false | number | string | undefined;
}

const COOKIE = 'svc_did';
/** As the tag makes them. */
const VISITOR_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const USER_AGENT_CHARACTERS_MAX = 1_000;
const IPV4 = /^(?:\d{1,3}\.){3}\d{1,3}$/;
const IPV6 = /^[0-9a-f:]*:[0-9a-f:]*(?:(?:\d{1,3}\.){3}\d{1,3})?$/i;

/** The shopper's visitor id, address and user agent, as far as the request says them. Never throws. */
export function fromRequest(request: RequestLike, { trustProxy = false }: RequestOptions = {}): Shopper {
  const userAgent = headerOf(request.headers, 'user-agent')?.slice(0, USER_AGENT_CHARACTERS_MAX);
  return {
    distinctId: visitorIdOf(headerOf(request.headers, 'cookie')),
    ip: addressOf(request, trustProxy),
    userAgent: userAgent === '' ? undefined : userAgent,
  };
}

function headerOf(headers: HeadersLike | undefined, name: string): string | undefined {
  if (typeof headers?.get === 'function') return (headers.get(name) as string | null) ?? undefined;
  const value = Object.hasOwn(headers ?? {}, name)
    ? (headers as Record<string, string | string[] | undefined>)[name]
    : undefined;
  // As several Cookie or X-Forwarded-For headers are to be read.
  return Array.isArray(value) ? value.join(name === 'cookie' ? '; ' : ', ') : value;
}

/** Undefined where there is none of the tag's, or where two contradict each other. */
function visitorIdOf(cookies: string | undefined): string | undefined {
  const values = (cookies ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${COOKIE}=`))
    .map((pair) => pair.slice(COOKIE.length + 1));
  const [id] = values;
  return id !== undefined && VISITOR_ID.test(id) && values.every((other) => other === id) ? id : undefined;
}

function addressOf({ headers, socket, ip }: RequestLike, trustProxy: false | number | string): string | undefined {
  const connection = socket?.remoteAddress;
  if (typeof trustProxy === 'string') return plainAddress(headerOf(headers, trustProxy.toLowerCase()));
  if (trustProxy === false || trustProxy < 1) {
    // Only where there is a connection: what else calls itself `ip` may be whatever the client sent.
    return plainAddress(typeof ip === 'string' && connection !== undefined ? ip : connection);
  }
  const forwarded = headerOf(headers, 'x-forwarded-for')?.split(',') ?? [];
  // Each proxy appends who called it; what stands before the last so many is the client's own word.
  return plainAddress(forwarded.at(-trustProxy) ?? forwarded[0] ?? connection);
}

/** An address without port, brackets and the prefix of IPv4 in IPv6; undefined for anything else. */
function plainAddress(text: string | undefined): string | undefined {
  const bare = text?.trim().replace(/^\[([^\]]*)\](?::\d+)?$/, '$1') ?? '';
  const address = bare.replace(/^::ffff:(?=\d+\.)/i, '').replace(/^((?:\d{1,3}\.){3}\d{1,3}):\d+$/, '$1');
  return IPV4.test(address) || (IPV6.test(address) && address.length <= 45) ? address : undefined;
}
