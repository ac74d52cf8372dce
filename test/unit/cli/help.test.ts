import { describe, expect, it } from 'vitest';
import { planOf } from '#services/cli/command_plan.ts';
import { COMMANDS } from '#services/cli/commands.ts';
import { expectDone, installation } from './harness.ts';

describe('help', () => {
  it.each([[], ['--help'], ['help']])('of everything names every command', (...words) => {
    const plan = planOf(words);
    if (plan.kind !== 'print') return expect.unreachable();
    for (const { noun, verb } of COMMANDS) expect(plan.text).toContain(`${noun} ${verb}`);
    expect(plan.text).toContain('status');
  });

  it.each(['account', 'site', 'key', 'destination', 'survey', 'promo', 'form', 'token', 'audit'])(
    'of %s names its commands, with examples',
    async (noun) => {
      const shop = await installation();
      for (const words of [noun, `${noun} --help`]) {
        const text = await expectDone(shop.svc(words));
        for (const command of COMMANDS.filter((item) => item.noun === noun)) expect(text).toContain(command.summary);
        expect(text).toContain('Examples:');
      }
      expect(shop.store.opened).toBe(0);
    },
  );

  it.each(COMMANDS.map((command) => [`${command.noun} ${command.verb}`, command] as const))(
    'of %s names its options, with examples, and opens nothing',
    async (words, command) => {
      const shop = await installation();
      const text = await expectDone(shop.svc(`${words} --help`));
      for (const option of Object.keys(command.options)) expect(text).toContain(`--${option}`);
      for (const example of command.examples) expect(text).toContain(`npm run svc -- ${example}`);
      expect(command.examples.length).toBeGreaterThan(0);
      expect(shop.store.opened).toBe(0);
    },
  );

  it.each(COMMANDS.flatMap((command) => command.examples))('shows an example that can be read: %s', (example) => {
    const words = [...example.replace(/ <.*/, '').matchAll(/"([^"]*)"|(\S+)/g)].map(
      (match) => match[1] ?? match[2] ?? '',
    );
    expect(planOf(words).kind).toBe('command');
  });

  it('of status says what it does', async () => {
    expect(await expectDone((await installation()).svc('status --help'))).toContain('npm run svc -- status --json');
  });
});
