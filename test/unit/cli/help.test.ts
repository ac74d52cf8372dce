import { describe, expect, it } from 'vitest';
import { COMMANDS, planOf } from '#services/cli/run_cli.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { expectDone, installation } from './harness.ts';

describe('help', () => {
  it.each([[], ['--help'], ['help']])('of everything names every command', (...words) => {
    const plan = planOf(words);
    if (plan.kind !== 'print') return expect.unreachable();
    for (const { noun, verb } of COMMANDS) expect(plan.text).toContain(`${noun} ${verb}`);
    expect(plan.text).toContain('status');
  });

  it('of a noun names its commands, with examples', async () => {
    const shop = await installation();
    await checkAll(
      ['account', 'site', 'key', 'destination', 'survey', 'promo', 'form', 'token', 'audit'],
      async (noun) => {
        for (const words of [noun, `${noun} --help`]) {
          const text = await expectDone(shop.svc(words));
          for (const command of COMMANDS.filter((item) => item.noun === noun)) expect(text).toContain(command.summary);
          expect(text).toContain('Examples:');
        }
      },
    );
    expect(shop.store.opened).toBe(0);
  });

  it('of a command names its options, with examples, and opens nothing', async () => {
    const shop = await installation();
    await checkAll(
      COMMANDS.map((command) => [`${command.noun} ${command.verb}`, command] as const),
      async ([words, command]) => {
        const text = await expectDone(shop.svc(`${words} --help`));
        for (const option of Object.keys(command.options)) expect(text).toContain(`--${option}`);
        for (const example of command.examples) expect(text).toContain(`npm run svc -- ${example}`);
        expect(command.examples.length).toBeGreaterThan(0);
      },
    );
    expect(shop.store.opened).toBe(0);
  });

  it('shows only examples that can be read', () =>
    checkAll(
      COMMANDS.flatMap((command) => command.examples),
      (example) => {
        const words = [...example.replace(/ <.*/, '').matchAll(/"([^"]*)"|(\S+)/g)].map(
          (match) => match[1] ?? match[2] ?? '',
        );
        expect(planOf(words).kind).toBe('command');
      },
    ));

  it('of status says what it does', async () => {
    expect(await expectDone((await installation()).svc('status --help'))).toContain('npm run svc -- status --json');
  });
});
