import { type StaticDecode, Type } from 'typebox';
import {
  type Environment,
  HTTP_URL,
  integer,
  isAddressOrRange,
  list,
  listenHost,
  optionalText,
  PUBLIC_URL,
  readSettings,
  text,
} from './environment.ts';
import { BOTH_REDIS_PROCESS, SECRETS } from './service_config.ts';

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
    description: 'Timeout for these scripts.',
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
      'Proxies whose `X-Forwarded-For` and `X-Forwarded-Host` are believed ([rules](operations.md#behind-proxies)).',
  }),
  acknowledgeMs: integer('EDGE_ACKNOWLEDGE_MS', {
    default: 5_000,
    range: [100, 60_000],
    description: "Wait for Kafka's acknowledgement; then 503.",
  }),
  queuedBytesMax: integer('EDGE_QUEUED_BYTES', {
    default: 64 * MIB,
    minimum: MIB,
    description: 'Bytes that may wait for Kafka; beyond 503.',
  }),
  openRequestsMax: integer('EDGE_OPEN_REQUESTS', {
    default: 10_000,
    minimum: 1,
    description:
      'Open requests with a body; beyond 503. A /24 or /64 has a quarter; without a known key all have a quarter, a /24 or /64 a sixteenth.',
  }),
  openBytesMax: integer('EDGE_OPEN_BYTES', {
    default: 128 * MIB,
    minimum: 8 * MIB,
    description: 'Bytes of their bodies in memory, shared likewise; beyond 503.',
  }),
  requestsPerIp: integer('RATE_LIMIT_IP', {
    default: 200,
    description: 'Requests in 10 seconds from an address (IPv6: /64); beyond 429. `0`: no limit, here and below.',
  }),
  requestsPerKey: integer('RATE_LIMIT_KEY', {
    default: 1_000,
    description: 'The same with a key that has no limit of its own.',
  }),
  requestsWithoutKey: integer('RATE_LIMIT_WITHOUT_KEY', {
    default: 50,
    description: 'The same from an address, with no valid key in query, header or body; each edge counts alone.',
  }),
  ipExempt: list('RATE_LIMIT_IP_EXEMPT', {
    ...RANGES,
    default: [],
    startDefault: 'loopback',
    description: 'Addresses without that limit, such as servers that send for many shoppers.',
  }),
  loaders: LOADERS,
  leaseMs: integer('EDGE_LEASE_MS', {
    default: 30_000,
    range: [5_000, 600_000],
    description: 'How long reservations of a dead edge are held.',
  }),
});

/** What the edge and the control service read for their HTTP servers. */
export const HTTP = Type.Object({
  publicUrl: optionalText('CONTROL_PUBLIC_URL', {
    ...PUBLIC_URL,
    defaultText: 'none: this machine only',
    description: 'Address of the dashboard for people; pages tell it which element was chosen.',
  }),
  requestErrorsMax: integer('REQUEST_ERRORS_MAX', {
    default: 100,
    description: 'Unknown errors in a row, over a minute or more, that end the process; `0`: never.',
  }),
});

export const EDGE_PROCESS = Type.Object({
  ...BOTH_REDIS_PROCESS.properties,
  ...EDGE.properties,
  ...HTTP.properties,
  identitySecret: SECRETS.identitySecret,
});

export type EdgeConfig = StaticDecode<typeof EDGE_PROCESS>;

export const edgeConfig = (env: Environment): EdgeConfig => readSettings(EDGE_PROCESS, env);
