import { expect, test } from 'vitest';
import type { IdentityLookup, IdentityStore } from '#pipelines/identity/identity.ts';
import type { IdentityLink } from '#schemas/records.ts';
import type { Random } from '#services/local/demo/world/random.ts';
import { createMemoryIdentity } from '#test/contract/identity/memory_identity.ts';
import { expectedLeaders, leadersOf } from '#test/contract/identity/model.ts';
import { question } from '#test/contract/identity/questions.ts';
import type { Pause } from './actor.ts';
import { firstFailure, type Outcome, runChaos } from './chaos.ts';
import { across, createLog } from './log.ts';

const SEEDS = 1_500;
/** Seconds on a machine of its own, far more on a busy one. */
const TIMEOUT_MS = 120_000;
const PARTITIONS = 3;
const STEPS = 250;
const RECORDS = 25;
const PEOPLE = 8;
const NODES = 6;
const NO_CAP = 1_000;
const SITE = 'site';

interface Broken {
  unfenced?: true;
  /** Links are written only by the first try of an event, as if they were new only then. */
  saidOnce?: true;
}

/** The stage from events.unique to events.identified and identity.links, people meeting across all partitions. */
async function simulate(random: Random, broken: Broken): Promise<Outcome> {
  const unique = createLog<IdentityLookup>({
    partitions: PARTITIONS,
    ...(broken.unfenced ? { unfenced: true } : {}),
  });
  const questions = Array.from({ length: RECORDS }, (_, at) => {
    const partition = random.whole(0, PARTITIONS - 1);
    const nodes = Array.from({ length: random.whole(0, 2) }, () => `n_${random.whole(1, NODES)}`);
    const asked = question(SITE, `p_${random.whole(1, PEOPLE)}`, {
      nodes: [...new Set(nodes)],
      receivedAtMs: 1_000 + random.whole(0, 3),
      coordinate: `${partition}:${at}:0`,
    });
    unique.append(partition, asked);
    return asked;
  });
  const people = createMemoryIdentity(NO_CAP);
  const store = broken.saidOnce ? sayingOnce(people) : people;
  const identified: string[] = [];
  const links: IdentityLink[] = [];

  async function work(partition: number, pause: Pause): Promise<void> {
    const token = await across(pause, () => unique.fence(partition));
    let { offset } = await across(pause, () => unique.committed(partition));
    while (offset < unique.end(partition)) {
      const records = await across(pause, () => unique.read(partition, offset, 2));
      const answers = await across(pause, () => store.resolve(SITE, records));
      const next = offset + records.length;
      await across(pause, () =>
        unique.commit(partition, token, next, '', () => {
          identified.push(...records.map(({ coordinate }) => coordinate));
          links.push(...answers.flatMap((answer) => answer.links));
        }),
      );
      offset = next;
    }
  }

  await runChaos({ random, partitions: PARTITIONS, work, steps: STEPS });
  const doubled = identified.filter((one, index) => identified.indexOf(one) !== index);
  const missing = questions.filter(({ coordinate }) => !identified.includes(coordinate));
  const written = leadersOf(links);
  const wrong = [...expectedLeaders(questions)].filter(([person, leader]) => written.get(person) !== leader);
  return [
    ...(missing.length > 0 ? [`lost ${missing.map(({ coordinate }) => coordinate).join(' ')}`] : []),
    ...(doubled.length > 0 ? [`doubled ${doubled.join(' ')}`] : []),
    ...(wrong.length > 0 ? [`not linked ${wrong.map(([person]) => person).join(' ')}`] : []),
  ];
}

function sayingOnce(people: IdentityStore): IdentityStore {
  const said = new Set<string>();
  return {
    async resolve(siteId, questions) {
      const answers = await people.resolve(siteId, questions);
      return answers.map((answer, index) => {
        const { coordinate } = questions[index] as IdentityLookup;
        if (said.has(coordinate)) return { ...answer, links: [] };
        said.add(coordinate);
        return answer;
      });
    },
  };
}

test('whoever dies or wakes up late, each event is identified once and people are who they are', {
  timeout: TIMEOUT_MS,
}, async () => {
  expect(await firstFailure('identity', SEEDS, (random) => simulate(random, {}))).toBeNull();
});

test('without fencing some seed doubles', async () => {
  expect(await firstFailure('identity', SEEDS, (random) => simulate(random, { unfenced: true }))).toMatch(/doubled/);
});

test('with links that are said at the first try only some seed does not link', async () => {
  expect(await firstFailure('identity', SEEDS, (random) => simulate(random, { saidOnce: true }))).toMatch(/not linked/);
});
