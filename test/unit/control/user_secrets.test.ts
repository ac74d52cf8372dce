import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { parseKeyRing } from '#infra/secrets/seal.ts';
import { blankUser } from '#pipelines/settings/dashboard_users.ts';
import { createUserSecrets, warnOfUnopened } from '#services/control/users/sign_in.ts';

const ringOf = (id: string, byte: number) => parseKeyRing(`${id}:${Buffer.alloc(32, byte).toString('base64')}`);

it('says in the log which secret does not open, and at start how many users cannot sign in', () => {
  const lines: unknown[][] = [];
  const logger = { error: (...line: unknown[]) => lines.push(line) } as unknown as Parameters<typeof warnOfUnopened>[2];
  const before = createUserSecrets(ringOf('k1', 1), randomBytes, logger);
  const now = createUserSecrets(ringOf('k2', 2), randomBytes, logger);
  const sealed = before.seal('ada', 'password', 'a hash');
  expect(before.open('ada', 'password', sealed)).toBe('a hash');
  expect(lines).toEqual([]);
  const users = [
    { ...blankUser('ada', 'Ada', 0), password: sealed },
    { ...blankUser('bob', 'Bob', 0), password: now.seal('bob', 'password', 'a hash') },
    blankUser('eve', 'Eve', 0),
  ];
  warnOfUnopened(users, now, logger);
  expect(lines.map(([facts]) => facts)).toEqual([
    { user: 'ada', field: 'password', code: expect.stringMatching(/^secret/) },
    { users: 1 },
  ]);
  expect(JSON.stringify(lines)).not.toContain(sealed);
});
