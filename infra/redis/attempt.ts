import { randomUUID } from 'node:crypto';
import { asked, IndexLostError, type Redis } from './client.ts';
import { createIndexScript } from './lua_script.ts';

/**
 * A rebuild that another process can go on with: its progress is stored beside what it has restored, in the same servers,
 * and means nothing without that.
 */
export interface Attempt {
  /** For each partition the offset before which everything is restored; empty for a new attempt. */
  readonly passed: ReadonlyMap<number, number>;
  /** Notes that everything in a partition before an offset is restored. */
  pass(partition: number, offset: number): Promise<void>;
}

/**
 * Goes on with the attempt under way if every server still has all of it and it is for this layout; else ends it and begins
 * another. `onNew` runs between the two: what the old attempt had restored may be deleted then. Throws IndexLostError if
 * another process begins one meanwhile.
 */
export async function openAttempt(
  redis: Redis,
  prefixes: readonly [string, ...string[]],
  layout: string,
  onNew: () => Promise<void>,
): Promise<Attempt> {
  const [first] = prefixes;
  const stateScript = createIndexScript(redis, 'incarnation_state.lua');
  const endScript = createIndexScript(redis, 'attempt_end.lua');
  const beginScript = createIndexScript(redis, 'attempt_begin.lua');
  const passScript = createIndexScript(redis, 'attempt_pass.lua');
  const runIds = await Promise.all(
    prefixes.map(async (prefix) => ((await stateScript.run([prefix], [])) as [runId: string])[0]),
  );
  const textOf = (id: string, at: number): string => `${id} ${layout} ${runIds[at]}`;

  async function underWay(): Promise<string | null> {
    const values = await Promise.all(prefixes.map((prefix) => asked(redis.get(`${prefix}attempt`))));
    const id = values[0]?.split(' ')[0] ?? '';
    return id !== '' && values.every((value, at) => value === textOf(id, at)) ? id : null;
  }

  async function begin(): Promise<string> {
    const id = randomUUID();
    await Promise.all(prefixes.map((prefix) => endScript.run([prefix], [id])));
    await onNew();
    const begun = await Promise.all(prefixes.map((prefix, at) => beginScript.run([prefix], [id, textOf(id, at)])));
    if (begun.some((answer) => answer !== 1)) throw new IndexLostError('another process begins to rebuild the index');
    return id;
  }

  const found = await underWay();
  const id = found ?? (await begin());
  const noted = found === null ? {} : await asked(redis.hgetall(`${first}passed`));
  return {
    passed: new Map(Object.entries(noted).map(([partition, offset]) => [Number(partition), Number(offset)])),
    async pass(partition, offset) {
      await passScript.run([first], [id, partition, offset]);
    },
  };
}
