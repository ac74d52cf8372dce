import { isDeepStrictEqual } from 'node:util';
import type { Grant } from '#schemas/setting.ts';
import { isRole } from './access.ts';
import { type Problem, problem } from './problem.ts';
import type { SettingsTable } from './table.ts';

const GRANTS_MAX = 100;

/** A grant with what it leaves out: no place is the whole installation. */
export function fullGrant({ role, account_id = null, site_id = null }: Partial<Grant> & Pick<Grant, 'role'>): Grant {
  return { role, account_id, site_id };
}

/** Whether two grants are of one role in one place. */
export const isSameGrant = (one: Grant, other: Grant): boolean => isDeepStrictEqual(fullGrant(one), fullGrant(other));

/** Checks grants before they are written; no problem: they may be. */
export function grantProblems(grants: readonly Grant[], table: SettingsTable): Problem[] {
  const many = grants.length > GRANTS_MAX ? [problem('too_many', 'grants', `at most ${GRANTS_MAX} are taken`)] : [];
  return [...many, ...grants.flatMap((grant, index) => problemsOf(grant, index, grants, table))];
}

function problemsOf(grant: Grant, index: number, grants: readonly Grant[], table: SettingsTable): Problem[] {
  const field = `grants[${index}]`;
  const { role, account_id, site_id } = grant;
  if (!isRole(role)) return [problem('grant_malformed', field, 'has a role that there is not')];
  if (account_id !== null && site_id !== null) {
    return [problem('grant_malformed', field, 'names an account and a site: it is for one of them')];
  }
  if (grants.findIndex((other) => isSameGrant(other, grant)) !== index) {
    return [problem('repeated', field, 'is there twice')];
  }
  if (account_id !== null && table.account(account_id) === undefined) {
    return [problem('account_unknown', field, 'is for an account that there is not')];
  }
  if (site_id !== null && table.site(site_id) === undefined) {
    return [problem('site_unknown', field, 'is for a site that there is not')];
  }
  return [];
}
