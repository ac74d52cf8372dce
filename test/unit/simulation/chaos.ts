import { type Random, randomFor } from '#services/local/demo/world/random.ts';
import { cases, drawnSeed } from '#test/harness/environment.ts';
import { type Actor, createActor, type Pause } from './actor.ts';

/** Who works on a partition now, and who believes to. */
interface Place {
  owner: Actor;
  /** Owners that were taken for dead and were not. */
  zombies: Actor[];
}

export interface ChaosOptions {
  random: Random;
  partitions: number;
  /** The work of the owner of a partition; ends when there is nothing left to do. */
  work(partition: number, pause: Pause): Promise<void>;
  /** Called before each step: time passes, things happen in the world. */
  tick?(): void;
  /** Steps in which owners may die and stall; then everything is let finish. */
  steps: number;
}

const DEATHS = 0.04;
const TAKEOVERS = 0.03;
/** Owners that stalled wake up in so many of the steps. */
const AWAKENINGS = 0.1;
const FINISH_STEPS_MAX = 20_000;

/**
 * Steps owners of partitions in random order. At every await one may die, or be taken for dead, lose its partition to
 * another and go on later. In the end nobody dies any more and every owner finishes. Throws where one never does.
 */
export async function runChaos(options: ChaosOptions): Promise<void> {
  const { random } = options;
  const begin = (partition: number): Actor => createActor((pause) => options.work(partition, pause));
  const places = Array.from(
    { length: options.partitions },
    (_, partition): Place => ({ owner: begin(partition), zombies: [] }),
  );

  const disturb = (place: Place, partition: number): void => {
    if (random.chance(DEATHS)) place.owner = begin(partition);
    else if (random.chance(TAKEOVERS)) {
      place.zombies.push(place.owner);
      place.owner = begin(partition);
    }
  };

  for (let step = 0; step < options.steps; step++) {
    options.tick?.();
    const partition = random.whole(0, places.length - 1);
    const place = places[partition] as Place;
    disturb(place, partition);
    await place.owner.resume();
    if (place.owner.hasEnded()) place.owner = begin(partition);
    const zombie = place.zombies[random.whole(0, Math.max(0, place.zombies.length - 1))];
    if (zombie !== undefined && random.chance(AWAKENINGS)) await zombie.resume();
  }
  await finish(places, begin, options);
}

/** Zombies wake up to their end first: then the last owners meet whatever these have done. */
async function finish(places: Place[], begin: (partition: number) => Actor, options: ChaosOptions): Promise<void> {
  const run = async (actor: Actor): Promise<void> => {
    for (let step = 0; !actor.hasEnded(); step++) {
      if (step > FINISH_STEPS_MAX) throw new Error('an owner never finishes');
      options.tick?.();
      await actor.resume();
    }
  };
  for (const { zombies } of places) for (const zombie of zombies) await run(zombie);
  for (let partition = 0; partition < places.length; partition++) await run(begin(partition));
}

/** What a seed came to: empty where everything held. */
export type Outcome = string[];

/**
 * Runs a simulation for so many seeds, from 1 in every run, and says of the first that fails what is wrong and which seed it was.
 *
 * @returns the problem of the first failing seed, or null where every seed held.
 */
export async function firstFailure(
  name: string,
  seeds: number,
  simulate: (random: Random) => Promise<Outcome>,
): Promise<string | null> {
  const first = drawnSeed() ?? 1;
  for (let seed = first; seed < first + cases(seeds); seed++) {
    const problems = await simulate(randomFor(`${name}/${seed}`));
    if (problems.length > 0) return `seed ${seed}: ${problems.join('; ')}`;
  }
  return null;
}
