import type { OptionSpec } from './command.ts';
import { UsageError } from './usage_error.ts';

interface GrantText {
  role: string;
  account_id?: string | null;
  site_id?: string | null;
}

/** A role in a place, as it is typed; several may be given. */
export const GRANT_OPTION: OptionSpec = {
  kind: 'texts',
  value: 'ROLE[@account/ID|@site/ID]',
  help: 'a role in an account, a site, or without a place in the whole installation',
};

/** Reads `viewer@site/shop`, `admin@account/acme` or `owner`. @throws UsageError for anything else. */
export function readGrant(text: string): GrantText {
  const [, role = '', kind, id] = /^([a-z]+)(?:@(account|site)\/([a-z0-9_-]{1,64}))?$/.exec(text) ?? [];
  if (role === '') throw new UsageError('grant_malformed', `--grant ${text} is not like viewer@site/shop or admin`);
  if (id === undefined) return { role };
  return kind === 'site' ? { role, site_id: id } : { role, account_id: id };
}

export function renderGrants(grants: readonly GrantText[]): string {
  return grants.length === 0 ? '-' : grants.map(renderGrant).join(', ');
}

function renderGrant({ role, account_id, site_id }: GrantText): string {
  if (typeof site_id === 'string') return `${role}@site/${site_id}`;
  return typeof account_id === 'string' ? `${role}@account/${account_id}` : role;
}
