import { controlDocument, EXAMPLES, ROUTES } from '#services/control/routes.ts';
import { NOW_MS } from './harness.ts';
import type { ScopedWorld } from './scoped_world.ts';

/** A query that does not run. */
const RUNNING = '5fd2b51c-21a5-4d27-8b0b-2fb43d2e8a01';

const BODIES: Record<string, object> = {
  changeSite: { name: 'Shop' },
  createSite: { site_id: 'new', account_id: 'acme' },
  issueKey: { site_id: 'shop', caller: 'browser' },
  createReplay: { destination: 'crm', site_id: 'shop', from: NOW_MS - 1000, to: NOW_MS },
  createDestination: { name: 'crm' },
  createUser: { user_id: 'new', grants: [{ role: 'viewer', site_id: 'shop' }] },
  changeUser: { name: 'Ada' },
  changePassword: { password: 'x', new_password: 'another long one' },
  confirmSecondFactor: { code: '000000', password: 'x' },
  startLink: { provider: 'none', password: 'x' },
  finishLink: { answer: 'code=x' },
  unlinkProviders: { password: 'x' },
  proveSession: { password: 'x' },
  removeSecondFactor: { code: '000000', password: 'x' },
  resendDeadLetters: { ids: ['dedup-0-0'] },
  resolveDeadLetters: { ids: ['dedup-0-0'], note: 'Known.' },
  reopenDeadLetters: { ids: ['dedup-0-0'] },
  splitPerson: { distinct_ids: ['till-7'] },
  findPerson: { distinct_id: 'till-7' },
  exportPerson: { distinct_id: 'till-7' },
  erasePerson: { distinct_id: 'till-7' },
  eraseSite: { confirm: 'another' },
  makeAnalyst: { analyst_id: 'ada', site_ids: ['shop'] },
  issueToken: { label: 'new', grants: [{ role: 'viewer', site_id: 'shop' }] },
};

/** Every operation of the document. */
export const operations = Object.entries(
  controlDocument()['paths'] as Record<string, Record<string, { operationId: string; parameters?: { in: string }[] }>>,
).flatMap(([path, item]) =>
  Object.entries(item).map(([method, { operationId }]) => ({ path, method: method.toUpperCase(), operationId })),
);
/** A path with the facts of acme's shop in it. */
export function filled(path: string, world: ScopedWorld): string {
  const values: Record<string, string> = {
    account_id: 'acme',
    site_id: 'shop',
    key_hash: world.keys.shop,
    replay_id: world.replayIds.shop,
    token_hash: world.tokens.shop,
    name: 'crm',
    domain: 'shop.example',
    id: 'countries',
    definition_id: 'newsletter',
    letter_id: 'dedup-0-0',
    user_id: 'vera',
    session_id: 'a'.repeat(64),
    event_id: 'e1',
    analyst_id: 'none',
  };
  if (path.startsWith('/v1/admin/queries/')) values['id'] = RUNNING;
  return path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => values[name] ?? 'none');
}

/** A body that an operation takes, as the call has it; nothing where it takes none. */
export function bodyFor(operationId: string): { body?: object } {
  const takesBody = ROUTES.find((route) => route.operationId === operationId)?.body !== null;
  return takesBody ? { body: BODIES[operationId] ?? EXAMPLES[operationId] ?? {} } : {};
}
