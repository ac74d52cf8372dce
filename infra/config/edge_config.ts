import { type StaticDecode, Type } from 'typebox';
import {
  type Environment,
  HTTP_URL,
  integer,
  isAddressOrRange,
  list,
  listenHost,
  readSettings,
  text,
} from './environment.ts';
import { REDIS_PROCESS, SECRETS } from './service_config.ts';

const MIB = 1024 * 1024;
const RANGES = { check: isAddressOrRange, allowed: 'IP addresses and CIDR ranges, separated by commas' };

const LOADERS = Type.Object({
  vendors: Type.Object({
    google: text('EDGE_LOADER_GOOGLE_URL', {
      ...HTTP_URL,
      default: 'https://www.googletagmanager.com',
      description: 'Where `/sg.js` and `/sx.js` come from.',
    }),
    meta: text('EDGE_LOADER_META_URL', {
      ...HTTP_URL,
      default: 'https://connect.facebook.net',
      description: 'Where `/sp.js` comes from.',
    }),
    tiktok: text('EDGE_LOADER_TIKTOK_URL', {
      ...HTTP_URL,
      default: 'https://analytics.tiktok.com',
      description: 'Where `/tt.js` comes from.',
    }),
  }),
  timeoutMs: integer('EDGE_LOADER_TIMEOUT_MS', {
    default: 5_000,
    range: [100, 30_000],
    description: "The longest that a vendor's script may take to come.",
  }),
});

export const EDGE = Type.Object({
  host: listenHost('EDGE_HOST'),
  port: integer('EDGE_PORT', {
    default: 8080,
    maximum: 65_535,
    startDefault: 'a free port, kept',
    description: 'Port to listen on; `0` takes any free port.',
  }),
  trustedProxies: list('TRUSTED_PROXIES', {
    ...RANGES,
    default: [],
    startDefault: 'loopback',
    description:
      'Proxies whose `X-Forwarded-For` and `X-Forwarded-Host` are believed, so that they must write both themselves; the addresses in the former may have ports.',
  }),
  acknowledgeMs: integer('EDGE_ACKNOWLEDGE_MS', {
    default: 5_000,
    range: [100, 60_000],
    description: "The longest a request waits for Kafka's acknowledgement before it gets a 503.",
  }),
  queuedBytesMax: integer('EDGE_QUEUED_BYTES', {
    default: 64 * MIB,
    minimum: MIB,
    description: 'Bytes that may wait for Kafka; requests beyond that get a 503.',
  }),
  openRequestsMax: integer('EDGE_OPEN_REQUESTS', {
    default: 10_000,
    minimum: 1,
    description:
      'Requests with a body that may be open at a time; more get a 503. One /24 or /64 has a quarter of them, and of all whose key is not known yet a quarter, one /24 or /64 a sixteenth.',
  }),
  openBytesMax: integer('EDGE_OPEN_BYTES', {
    default: 128 * MIB,
    minimum: 8 * MIB,
    description:
      'Bytes of request bodies that may be in memory at a time; requests beyond that get a 503. They are shared as the requests are.',
  }),
  requestsPerIp: integer('RATE_LIMIT_IP', {
    default: 200,
    description: 'Requests in 10 seconds from one address, or from one /64 of IPv6; more get a 429. `0` sets no limit.',
  }),
  requestsPerKey: integer('RATE_LIMIT_KEY', {
    default: 1_000,
    description: 'Requests in 10 seconds with a key that has no limit of its own; more get a 429. `0` sets no limit.',
  }),
  requestsWithoutKey: integer('RATE_LIMIT_WITHOUT_KEY', {
    default: 50,
    description:
      'Requests in 10 seconds from one address whose body was searched for a key and held no valid one; more get a 429 before their body is searched. Each edge counts for itself. `0` sets no limit.',
  }),
  ipExempt: list('RATE_LIMIT_IP_EXEMPT', {
    ...RANGES,
    default: [],
    startDefault: 'loopback',
    description:
      'Addresses to which the limit per address does not apply, such as that of a server that sends for many shoppers.',
  }),
  loaders: LOADERS,
  leaseMs: integer('EDGE_LEASE_MS', {
    default: 30_000,
    range: [5_000, 600_000],
    description:
      'How long an edge may go without renewing its lease before it counts as dead and what it reserved but never produced is given back.',
  }),
});

/** What the edge and the control service read for their HTTP servers. */
export const HTTP = Type.Object({
  requestErrorsMax: integer('REQUEST_ERRORS_MAX', {
    default: 100,
    description:
      'Requests that may fail in a row for unknown reasons, over at least a minute, before the process ends so that it is started anew. `0` never ends it.',
  }),
});

export const EDGE_PROCESS = Type.Object({
  ...REDIS_PROCESS.properties,
  ...EDGE.properties,
  ...HTTP.properties,
  identitySecret: SECRETS.identitySecret,
});

export type EdgeConfig = StaticDecode<typeof EDGE_PROCESS>;

export const edgeConfig = (env: Environment): EdgeConfig => readSettings(EDGE_PROCESS, env);
