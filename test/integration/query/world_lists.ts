import { expect, test } from 'vitest';
import type { FunnelAnswer } from '#pipelines/analytics/funnels/query.ts';
import type { PathsAnswer, PathsQuery } from '#pipelines/analytics/paths.ts';
import type { ActorsAnswer, ActorsQuery } from '#pipelines/analytics/people/query.ts';
import type { Questions } from '#pipelines/analytics/questions.ts';
import type { RetentionAnswer } from '#pipelines/analytics/retention.ts';
import type { TrendsAnswer } from '#pipelines/analytics/trends/answer.ts';
import type { TrendsQuery } from '#pipelines/analytics/trends/query.ts';
import { type Random, randomFor } from '#services/local/demo/world/random.ts';
import { useFilledWorld } from './filled_world.ts';
import type { QueryWorld } from './query_world.ts';
import { type Listed, listedByHand, sorted } from './reference/actors.ts';
import { anyPaths } from './reference/any_paths.ts';
import { funnelParts, pathsParts, retentionParts, trendsParts } from './reference/chart_parts.ts';
import { COHORTS } from './reference/cohorts.ts';
import { waysByHand } from './reference/paths.ts';
import { anyFunnel, anyRetention } from './reference/questions.ts';
import { byPerson, type Ledger } from './reference/reference_ledger.ts';
import { isInCohort, untilItsEnd } from './reference/selecting.ts';
import { anyTrends } from './reference/trend_questions.ts';
import { FROM, TO } from './reference/worlds.ts';
import { CHART_QUESTIONS, SEEDS, type WorldSeed } from './worlds_config.ts';

const TIMEOUT_MS = 1_200_000;

type Members = Questions['members']['answer'];

/** All pages of a list, put together. */
async function listed(world: QueryWorld, of: ActorsQuery['of'], limit: number) {
  const actors: Listed[] = [];
  const totals = new Set<number | null>();
  let after: string | null = null;
  do {
    const query: ActorsQuery = { of, limit, ...(after === null ? {} : { after }) };
    const page: ActorsAnswer = await world.ask('actors', query);
    actors.push(...page.actors.map(({ distinct_id: _id, ...actor }) => actor));
    totals.add(page.total);
    after = page.next;
  } while (after !== null);
  return { actors: sorted(actors), totals: [...totals] };
}

/** The part with the end of its chart's time in its conditions on persons, for the computation by hand. */
function ofKnown(of: ActorsQuery['of']): ActorsQuery['of'] {
  if ('funnel' in of) return { ...of, funnel: untilItsEnd(of.funnel) };
  if ('paths' in of) return { ...of, paths: untilItsEnd(of.paths) };
  return 'trends' in of ? { ...of, trends: untilItsEnd(of.trends) } : { ...of, retention: untilItsEnd(of.retention) };
}

/** Compares the lists behind the charts of worlds of one generator, for the tests of one file. */
export function chartListsSuite(of: WorldSeed['kind']): void {
  const filled = useFilledWorld();
  const seeds = SEEDS.filter(({ kind }) => kind === of);
  test.for(seeds)(
    'in world $kind $seed everybody who is counted in a chart, or is in a cohort, is listed',
    { timeout: TIMEOUT_MS },
    async (from) => {
      const { world, ledger } = await filled(from);
      for (let number = 0; number < CHART_QUESTIONS; number++) {
        const random = randomFor(`list ${from.kind} ${from.seed} ${number}`);
        const [funnel, trends, retention] = [anyFunnel(random), anyTrends(random), anyRetention(random)] as const;
        const charts = [
          funnelParts(random, funnel, await world.ask<FunnelAnswer>('funnel', funnel)),
          trendsParts(random, trends, await world.ask<TrendsAnswer>('trends', trends)),
          retentionParts(retention, await world.ask<RetentionAnswer>('retention', retention)),
        ];
        for (const { of, count } of charts.flatMap((parts) => some(random, parts))) {
          const { actors, totals } = await listed(world, of, pageOf(random, count));
          expect([totals, actors.length], JSON.stringify(of)).toEqual([[count], count]);
          expect(actors, JSON.stringify(of)).toEqual(listedByHand(ofKnown(of), ledger));
        }
      }
      for (const { id } of COHORTS) await expectMembers(world, id, ledger);
    },
  );
}

/** How many are in a cohort, and who; then who of them did anything in the time of the worlds. */
async function expectMembers(world: QueryWorld, cohort: string, ledger: Ledger): Promise<void> {
  const inIt = [...byPerson(ledger)].filter(([person, life]) => isInCohort(cohort, { person, life }));
  const sizes = await world.ask('cohorts', { of: [{ cohort }] });
  expect(sizes, cohort).toEqual({
    cohorts: [{ persons: inIt.length, listed: cohort === 'listed' ? inIt.length : null }],
  });
  const members: Members['members'] = [];
  let after: string | null = null;
  do {
    const page: Members = await world.ask('members', { cohort, ...(after === null ? {} : { after }) });
    members.push(...page.members);
    after = page.next;
  } while (after !== null);
  const said = members.map(({ distinct_id: _id, person_id, ...seen }) => [person_id, seen]);
  const done = inIt.map(([person, life]) => [
    person,
    { email_sha256: '', events: life.length, first_seen: life[0]?.at, last_seen: life.at(-1)?.at },
  ]);
  expect([members.length, Object.fromEntries(said)], cohort).toEqual([inIt.length, Object.fromEntries(done)]);
  const trends: TrendsQuery = { from: FROM, to: TO, interval: 'month', series: [{}], breakdown: { field: { cohort } } };
  const of: ActorsQuery['of'] = { trends, series: 1, parts: ['in'] };
  const { actors } = await listed(world, of, 1_000);
  expect(actors, JSON.stringify(of)).toEqual(listedByHand(ofKnown(of), ledger));
}

/** The same of the paths. */
export function pathListsSuite(of: WorldSeed['kind']): void {
  const filled = useFilledWorld();
  const seeds = SEEDS.filter(({ kind }) => kind === of);
  test.for(seeds)(
    'in world $kind $seed everybody whose path is counted is listed',
    { timeout: TIMEOUT_MS },
    async (from) => {
      const { world, ledger } = await filled(from);
      for (let number = 0; number < CHART_QUESTIONS; number++) {
        const random = randomFor(`ways ${from.kind} ${from.seed} ${number}`);
        const paths = anyPaths(random);
        const parts = pathsParts(paths, await world.ask<PathsAnswer>('paths', paths));
        const [first, ...others] = parts;
        if (first === undefined) continue;
        const nulls = parts.filter(({ of }) => 'paths' in of && of.way.includes(null));
        const ends = parts.filter(({ of, count }) => 'paths' in of && of.last !== undefined && count > 0);
        const chosen = [random.pick([first, ...others]), random.pick([first, ...others])];
        for (const { of, count } of [...chosen, ...some(random, nulls), ...some(random, ends)]) {
          const { actors, totals } = await listed(world, of, pageOf(random, count));
          expect([totals, actors.length], JSON.stringify(of)).toEqual([[count], count]);
          expect(actors, JSON.stringify(of)).toEqual(listedByHand(ofKnown(of), ledger));
        }
        const way = longWay(random, paths, ledger);
        if (way === null) continue;
        const { actors } = await listed(world, way, 1_000);
        expect(actors.length, JSON.stringify(way)).toBeGreaterThan(0);
        expect(actors, JSON.stringify(way)).toEqual(listedByHand(ofKnown(way), ledger));
      }
    },
  );
}

/** The whole way of some path, one of its values perhaps as one of the others. */
function longWay(random: Random, paths: PathsQuery, ledger: Ledger): ActorsQuery['of'] | null {
  const [first, ...others] = waysByHand(untilItsEnd(paths), ledger);
  if (first === undefined) return null;
  const { place, way } = random.pick([first, ...others]);
  return { paths, place, way, begins: true };
}

/** Two at most, chosen by chance. */
function some<Part>(random: Random, parts: readonly Part[]): Part[] {
  const [first, ...others] = parts;
  return first === undefined ? [] : [random.pick([first, ...others]), random.pick([first, ...others])];
}

/** One page, or three. */
const pageOf = (random: Random, count: number): number =>
  Math.min(1_000, random.chance(0.7) ? 1_000 : Math.max(1, Math.ceil(count / 3)));
