import { Type } from 'typebox';
import { text } from './variable.ts';

interface ConfiguredProvider {
  id: string;
  label: string;
  issuer: string;
  client_id: string;
  client_secret: string;
  auth_time_optional?: boolean;
}

const FIELDS = ['id', 'label', 'issuer', 'client_id', 'client_secret'] as const;
const OPTIONAL = 'auth_time_optional';
const PROVIDERS_MAX = 5;
const LABEL_CHARACTERS_MAX = 40;

/** Providers of OpenID Connect at which people sign in. */
export const OIDC_PROVIDERS = Type.Decode(
  text('CONTROL_OIDC_PROVIDERS', {
    default: '[]',
    check: areProviders,
    allowed:
      'a JSON array of up to 5 objects with id, label, issuer, client_id, client_secret and maybe auth_time_optional',
    description:
      'Providers of OpenID Connect at which people sign in to the dashboard ([dashboard.md](dashboard.md)); an issuer is an https URL, or an http one of this machine.',
  }),
  (json) =>
    (JSON.parse(json) as ConfiguredProvider[]).map((provider) => {
      const { id, label, issuer, client_id, client_secret, auth_time_optional: isTimeOptional = false } = provider;
      return { id, label, issuer, clientId: client_id, clientSecret: client_secret, isTimeOptional };
    }),
);

/** Whether a text is such an array, each with an id of its own. */
function areProviders(json: string): boolean {
  const providers = parsed(json);
  if (!Array.isArray(providers) || providers.length > PROVIDERS_MAX || !providers.every(isProvider)) return false;
  return new Set(providers.map(({ id }) => id)).size === providers.length;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

function isProvider(value: unknown): value is ConfiguredProvider {
  if (typeof value !== 'object' || value === null) return false;
  const { [OPTIONAL]: isTimeOptional = false, ...fields } = value as Record<string, unknown>;
  if (typeof isTimeOptional !== 'boolean' || Object.keys(fields).length !== FIELDS.length) return false;
  const isFilled = FIELDS.every((name) => typeof fields[name] === 'string' && fields[name] !== '');
  if (!isFilled) return false;
  const { id, label, issuer } = value as ConfiguredProvider;
  return /^[a-z0-9_-]{1,32}$/.test(id) && label.length <= LABEL_CHARACTERS_MAX && isIssuer(issuer);
}

function isIssuer(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || /[?#]/.test(value) || url.username !== '') return false;
  const isOwnMachine = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  return url.protocol === 'https:' || (url.protocol === 'http:' && isOwnMachine);
}
