import { Type } from 'typebox';
import { describe, expect, it, test } from 'vitest';
import {
  ConfigError,
  choice,
  type Environment,
  flag,
  integer,
  list,
  orNull,
  readSettings,
  text,
} from '#infra/config/environment.ts';

const description = 'What it is for.';
const SCHEMA = Type.Object({
  places: integer('A_PLACES', { default: 7, minimum: 2, maximum: 9, description }),
  loud: flag('A_LOUD', { default: false, description }),
  level: choice('A_LEVEL', ['low', 'high'], { default: 'low', description }),
  names: list('A_NAMES', { default: [], check: (name) => name.length < 3, allowed: 'short names', description }),
  note: orNull(text('A_NOTE', { description })),
  window: Type.Decode(integer('A_WINDOW_HOURS', { default: 2, description }), (hours) => hours * 60),
});

const DEFAULTS = { places: 7, loud: false, level: 'low', names: [], note: null, window: 120 };

function faultsOf(env: Environment, schema = SCHEMA): readonly string[] {
  try {
    readSettings(schema, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
  }
  return [];
}

describe('what the environment says', () => {
  it('is the default where nothing is set', () => {
    expect(readSettings(SCHEMA, {})).toEqual(DEFAULTS);
  });

  it('is the default where a variable is empty', () => {
    const empty = { A_PLACES: '', A_LOUD: '', A_LEVEL: '', A_NAMES: '', A_NOTE: '', A_WINDOW_HOURS: '', A_WINDOW: '' };
    expect(readSettings(SCHEMA, empty)).toEqual(DEFAULTS);
  });

  it('is read by type, and turned into the unit of the code', () => {
    const env = { A_PLACES: '9', A_LOUD: '1', A_LEVEL: 'HIGH', A_NAMES: ' a, ,b', A_NOTE: '0', A_WINDOW_HOURS: '3' };
    expect(readSettings(SCHEMA, env)).toEqual({
      places: 9,
      loud: true,
      level: 'high',
      names: ['a', 'b'],
      note: '0',
      window: 180,
    });
  });

  it('never shares a default list with the next reader', () => {
    readSettings(SCHEMA, {}).names.push('mine');
    expect(readSettings(SCHEMA, {}).names).toEqual([]);
  });
});

describe('a fault', () => {
  test.for([
    ['A_PLACES', '1'],
    ['A_PLACES', '10'],
    ['A_PLACES', '2.5'],
    ['A_PLACES', '0x5'],
    ['A_PLACES', '5,000'],
    ['A_PLACES', ' '],
  ] as const)('%s=%s names the variable and what is allowed', ([name, value]) => {
    expect(faultsOf({ [name]: value })).toEqual(['A_PLACES must be a whole number from 2 to 9']);
  });

  it('is listed with all others, in the order of the schema', () => {
    expect(faultsOf({ A_WINDOW_HOURS: 'x', A_NAMES: 'ab,abc', A_LEVEL: 'toString', A_LOUD: 'yes' })).toEqual([
      'A_LOUD must be true or false',
      'A_LEVEL must be low or high',
      'A_NAMES must be short names',
      'A_WINDOW_HOURS must be a whole number from 0',
    ]);
  });

  it('is a required variable that is not set', () => {
    const schema = Type.Object({ key: text('A_KEY', { allowed: 'a key', description }) });
    expect(faultsOf({ A_KEY: '' }, schema as never)).toEqual(['A_KEY is not set: it must be a key']);
  });

  it('is thrown with a code, a line for each', () => {
    expect(() => readSettings(SCHEMA, { A_PLACES: 'x', A_LOUD: 'x' })).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        message:
          'the environment cannot be used:\n  A_PLACES must be a whole number from 2 to 9\n  A_LOUD must be true or false',
      }),
    );
  });
});
