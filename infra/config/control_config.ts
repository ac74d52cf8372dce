import { type StaticDecode, Type } from 'typebox';
import type { Environment } from './config.ts';
import { HTTP } from './edge_config.ts';
import { readSettings } from './read_settings.ts';
import { ANY_PROCESS, SECRETS } from './service_config.ts';
import { EGRESS } from './stage_config.ts';
import { integer, orNull, text } from './variable.ts';

const FIRST_TOKEN = Type.Object({
  hash: orNull(
    text('CONTROL_FIRST_TOKEN_SHA256', {
      pattern: '^[0-9a-f]{64}$',
      allowed: 'a SHA-256 in lower-case hex',
      startDefault: "that of the data folder's `admin.token`",
      description: 'Hash of an admin token that is registered at start unless it is known already.',
    }),
  ),
  label: text('CONTROL_FIRST_TOKEN_LABEL', {
    default: 'first',
    startDefault: '`local`',
    description: 'Label of that admin token.',
  }),
});

/** What only the control service reads. */
export const CONTROL = Type.Object({
  host: text('CONTROL_HOST', {
    default: '127.0.0.1',
    allowed: 'an address of this machine',
    description: 'Address to listen on.',
  }),
  port: integer('CONTROL_PORT', {
    default: 8090,
    maximum: 65_535,
    startDefault: 'a free port, kept',
    description: 'Port to listen on; `0` takes any free port.',
  }),
  firstToken: Type.Decode(FIRST_TOKEN, ({ hash, label }) => (hash === null ? null : { hash, label })),
});

const CONTROL_PROCESS = Type.Object({
  ...ANY_PROCESS.properties,
  ...CONTROL.properties,
  ...HTTP.properties,
  ...EGRESS.properties,
  secretsKeys: SECRETS.secretsKeys,
});

export type ControlConfig = StaticDecode<typeof CONTROL_PROCESS>;

export const controlConfig = (env: Environment): ControlConfig => readSettings(CONTROL_PROCESS, env);
