import type { CohortInput, CohortItem } from '#services/control_api/cohorts.ts';
import { withLive } from './live_answers.ts';
import { withTraffic } from './overview_answers.ts';
import type { StubApi } from './stub_api.ts';

const META = { version: 'v1', changed_at: 1_700_000_000_000, changed_by: 'ana', revision: 1 };
const COHORTS = '/v1/admin/sites/shop/cohorts';

/** A cohort by conditions and a list of a shop, with their sizes; what is written is kept. */
export function withCohorts(api: StubApi): StubApi {
  const items: CohortItem[] = [
    {
      ...{ id: 'regulars', name: 'Regulars', match: 'all', ...META },
      conditions: [
        { did: { events: ['purchase'] }, is: 'at_least', times: 3, last_days: 90 },
        { field: { person: { visit: 'channel' }, seen: 'first' }, is: 'equal', to: ['email'] },
      ],
    },
    { id: 'vips', name: 'VIPs', ...META },
  ];
  const member = (name: string) => ({
    ...{ person_id: `p-${name}`, distinct_id: name, email_sha256: '', events: 7 },
    ...{ first_seen: 1_700_000_000_000, last_seen: 1_700_000_900_000 },
  });
  return withLive(withTraffic(api), Date.now() - 9_000, 3)
    .on('GET', COHORTS, () => ({ items, next: null }))
    .on('POST', COHORTS, (body) => {
      const made = { ...(body as CohortInput), ...META };
      items.push(made);
      return { status: 201, body: made };
    })
    .on('DELETE', /\/cohorts\/[\w-]+$/, (_body, { pathname }) => {
      const [gone] = items.splice(
        items.findIndex(({ id }) => pathname.endsWith(`/${id}`)),
        1,
      );
      return gone ?? {};
    })
    .on('POST', '/v1/query/shop/cohorts', (body) => {
      const { of } = body as { of: { cohort?: string }[] };
      return { cohorts: of.map(({ cohort }) => ({ persons: 41, listed: cohort === 'vips' ? 1_234 : null })), as_of: 0 };
    })
    .on('POST', '/v1/query/shop/members', (body) => {
      const isFirst = !('after' in (body ?? {}));
      return { total: 2, members: [member(isFirst ? 'ann' : 'bob')], next: isFirst ? '17' : null, as_of: 0 };
    })
    .on('POST', `${COHORTS}/vips/members`, {
      ...{ taken: 2, refused: 1, refusals: [{ at: 1, code: 'unreadable' }], listed: 1_236, replacement: 'r1' },
    })
    .on('PUT', `${COHORTS}/vips/members`, {})
    .on('POST', `${COHORTS}/vips/members/remove`, { removed: 1, listed: 1_235 });
}
