import { type Static, Type } from 'typebox';
import { KEY_RATE_LIMIT_MAX } from '#pipelines/settings/validate.ts';
import {
  closed,
  hashField,
  idField,
  labelField,
  metaFields,
  nullable,
  pageFields,
  refusedAs,
  timeField,
} from './fields.ts';

const DAY_MS = 86_400_000;
export const OVERLAP_MS = DAY_MS;

const label = labelField('What the key is for');
const origins = Type.Array(Type.String({ minLength: 1, maxLength: 300, ...refusedAs('origin_malformed') }), {
  description:
    'Origins a browser may call from, each as https://shop.example or https://*.shop.example for every name below it; empty means every origin',
  maxItems: 100,
  ...refusedAs('too_many'),
});
const expiresAt = nullable(timeField('When it stops working'), refusedAs('expiry_malformed'));
const rateLimit = nullable(
  Type.Integer({ description: 'Requests in 10 seconds', minimum: 1, maximum: KEY_RATE_LIMIT_MAX }),
  { description: 'Requests in 10 seconds; null: as many as any key may', ...refusedAs('rate_limit_malformed') },
);
const caller = Type.Enum(['browser', 'server'], {
  description: 'browser: public, checked against its origins; server: secret, refused from browsers',
  ...refusedAs('caller_unknown'),
});
const keyHash = hashField('SHA-256 of the key');

export const keyQuery = closed({
  site_id: Type.Optional(idField('Only keys of this site')),
  shown_prefix: Type.Optional(Type.String({ description: 'Only keys that are shown so', maxLength: 100 })),
  ...pageFields,
});
export const newKey = closed({
  site_id: idField('The site whose events it may send'),
  caller,
  label: Type.Optional(label),
  allowed_origins: Type.Optional(origins),
  expires_at: Type.Optional(expiresAt),
  rate_limit: Type.Optional(rateLimit),
});
export const keyChange = closed({
  label: Type.Optional(label),
  allowed_origins: Type.Optional(origins),
  expires_at: Type.Optional(expiresAt),
  rate_limit: Type.Optional(rateLimit),
});
export const keyRotation = closed({
  overlap_ms: Type.Optional(
    Type.Integer({
      description: 'How long the old key goes on working; 0 revokes it at once',
      minimum: 0,
      maximum: 90 * DAY_MS,
      default: OVERLAP_MS,
      ...refusedAs('overlap_malformed'),
    }),
  ),
  expires_at: Type.Optional(expiresAt),
});
export const keyParams = closed({ key_hash: keyHash });

export const keyShape = Type.Object({
  key_hash: keyHash,
  shown_prefix: Type.String({ description: 'The first characters of the key' }),
  site_id: idField('The site whose events it may send'),
  caller,
  label,
  allowed_origins: origins,
  created_at: timeField('When it was issued'),
  expires_at: expiresAt,
  revoked_at: nullable(timeField('When it was revoked')),
  rate_limit: rateLimit,
  last_used_at: nullable(timeField('When it was last used, to the minute; null where that is not known')),
  state: Type.Enum(['active', 'expired', 'revoked']),
  ...metaFields,
});
export type KeyItem = Static<typeof keyShape>;

const secret = Type.String({ description: 'The whole key: shown this once and stored nowhere' });
export const issuedKeyShape = Type.Object({ secret, key: keyShape });
export type IssuedKeyItem = Static<typeof issuedKeyShape>;
export const rotatedKeyShape = Type.Object({ secret, key: keyShape, previous: keyShape });
export type RotatedKeyItem = Static<typeof rotatedKeyShape>;
