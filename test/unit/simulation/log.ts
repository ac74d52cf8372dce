import type { Pause } from './actor.ts';

/** A partition was taken by another owner: what this one would commit is refused. */
export class FencedError extends Error {
  readonly code = 'fenced';
}

/** Partitions in memory with committed offsets and owners that fence each other, as a broker keeps them. */
export interface Log<Item> {
  /** Takes a partition, fencing its owner; answers the token to commit with. */
  fence(partition: number): number;
  committed(partition: number): { offset: number; metadata: string };
  /** Applies everything at once, or nothing where the owner was fenced. */
  commit(partition: number, token: number, offset: number, metadata: string, effects: () => void): void;
  append(partition: number, item: Item): void;
  read(partition: number, offset: number, count: number): Item[];
  end(partition: number): number;
}

export interface LogOptions {
  partitions: number;
  /** Broken: nobody is refused. */
  unfenced?: true;
}

export function createLog<Item>({ partitions, unfenced }: LogOptions): Log<Item> {
  const items = Array.from({ length: partitions }, (): Item[] => []);
  const owners = new Array<number>(partitions).fill(0);
  const offsets = Array.from({ length: partitions }, () => ({ offset: 0, metadata: '' }));
  const of = (partition: number): Item[] => items[partition] as Item[];
  return {
    fence(partition) {
      const token = (owners[partition] ?? 0) + 1;
      owners[partition] = token;
      return token;
    },
    committed: (partition) => offsets[partition] as { offset: number; metadata: string },
    commit(partition, token, offset, metadata, effects) {
      if (unfenced !== true && owners[partition] !== token) throw new FencedError('fenced');
      effects();
      offsets[partition] = { offset, metadata };
    },
    append: (partition, item) => void of(partition).push(item),
    read: (partition, offset, count) => of(partition).slice(offset, offset + count),
    end: (partition) => of(partition).length,
  };
}

/** A call of the outside world: it may die on the way there, and on the way back when it has happened already. */
export async function across<T>(pause: Pause, happen: () => T | Promise<T>): Promise<T> {
  await pause();
  const answer = await happen();
  await pause();
  return answer;
}
