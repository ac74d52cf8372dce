import { describe, expect, it } from 'vitest';
import { COMMANDS, runCli } from '#services/cli/run_cli.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { wordsOf } from '#test/integration/query/typed_command.ts';
import { expectDone, installation } from './harness.ts';

/** Help is wrapped to the width of the terminal. */
const unwrapped = (text: string): string => text.replace(/\s+/g, ' ');

const nameOf = (usage: string): string => usage.split(' ').slice(0, 2).join(' ');

describe('help', () => {
  it.each([[], ['--help'], ['help']])('of everything names every command', async (...words) => {
    const text = await expectDone((await installation()).svc(words));
    for (const usage of Object.keys(COMMANDS)) expect(text).toContain(` ${usage} `);
    expect(text).toContain('status');
  });

  it('of a noun names its commands', async () => {
    const shop = await installation();
    await checkAll(['account', 'site', 'key', 'destination', 'survey', 'token', 'audit'], async (noun) => {
      for (const words of [noun, `${noun} --help`]) {
        const text = unwrapped(await expectDone(shop.svc(words)));
        for (const [usage, { summary }] of Object.entries(COMMANDS)) {
          if (usage.startsWith(`${noun} `)) expect(text).toContain(unwrapped(summary));
        }
      }
    });
    expect(shop.store.opened).toBe(0);
  });

  it('of a command names its options, with examples, and opens nothing', async () => {
    const shop = await installation();
    await checkAll(
      Object.entries(COMMANDS).map(([usage, command]) => [nameOf(usage), command] as const),
      async ([words, { options = [], examples = [] }]) => {
        const text = await expectDone(shop.svc(`${words} --help`));
        for (const { long } of options) expect(text).toContain(long);
        for (const example of examples) expect(text).toContain(`npm run svc -- ${example}`);
      },
    );
    expect(shop.store.opened).toBe(0);
  });

  it('shows only examples that can be read', () =>
    checkAll(
      Object.values(COMMANDS).flatMap(({ examples = [] }) => examples),
      async (example) => {
        const reached = () => Promise.reject(new Error('reached'));
        const openStatus = () => {
          throw new Error('not of this command');
        };
        const running = runCli(wordsOf(example.replace(/ <.*/, '')), {
          openContext: reached,
          openStatus,
          openDoctor: reached,
        });
        await expect(running).rejects.toThrow('reached');
      },
    ));

  it('of status says what it does', async () => {
    expect(await expectDone((await installation()).svc('status --help'))).toContain('npm run svc -- status --json');
  });
});
