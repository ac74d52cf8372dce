import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import { parseDefinition, readDefinition } from '#pipelines/engage/site_engage.ts';
import { checkAll } from '#test/harness/check_all.ts';
import { FORM, open, PROMO, SURVEY } from './samples.ts';

const LEAST: Record<EngageKind, object> = { survey: SURVEY, promo: PROMO, form: FORM };
const KINDS = ['survey', 'promo', 'form'] as const;

function fieldsOf(kind: EngageKind, input: unknown): string[] {
  const read = readDefinition(kind, input);
  return read.ok ? [] : read.problems.map(({ field }) => field);
}

describe.each(KINDS)('a %s', (kind) => {
  const least = LEAST[kind];

  it('is completed with what was left out, and stays so when it is read again', () => {
    const read = readDefinition(kind, least);
    expect(read).toMatchObject({ ok: true, definition: { ...least, enabled: true, priority: 50, share_percent: 100 } });
    expect(read.ok && readDefinition(kind, read.definition)).toEqual(read);
    expect(read.ok && parseDefinition(kind, JSON.stringify(read.definition))).toEqual(read.ok && read.definition);
  });

  it('leaves the input as it was', () => {
    const input = structuredClone(least);
    readDefinition(kind, input);
    expect(input).toEqual(least);
  });

  it('is refused with what is malformed in any definition', () =>
    checkAll(
      [
        [null],
        [[]],
        [{}],
        [{ id: 'Big' }],
        [{ id: 'constructor' }],
        [{ name: '' }],
        [{ name: 'a\nb' }],
        [{ name: 'of jane@shop.example' }],
        [{ priority: 101 }],
        [{ share_percent: -1 }],
        [{ unknown: 1 }],
        [{ starts_at: 2, ends_at: 1 }],
        [{ targeting: { url_pattern: Array(21).fill('/a') } }],
        [{ targeting: { device: ['watch'] } }],
        [{ targeting: { country: ['be'] } }],
        [{ targeting: { audience: Array(6).fill({ event: 'purchase' }) } }],
        [{ frequency: { max_times: 0 } }],
        [{ frequency: { every_days: 181 } }],
        [{ show: { on: 'event' } }],
        [{ show: { on: 'click' } }],
        [{ place: 'inline' }],
        [{ place: 'inline', mount: '#quote[' }],
        [{ show: { on: 'click', selector: 'a:contains(Quote)' } }],
        [{ theme: { accent: 'red;background:url(//x)' } }],
        [{ translations: { de: { 'nothing.of.it': 'x' } } }],
        [{ translations: { a: 1 } }],
        [{ translations: { a: null } }],
        [{ translations: { '': {} } }],
      ],
      ([change]) => {
        const input =
          change === null || Array.isArray(change) || Object.keys(change).length === 0
            ? change
            : { ...least, ...change };
        expect(readDefinition(kind, input)).toMatchObject({ ok: false });
      },
    ));

  it('names no language that is none', () => {
    const definition = { ...least, translations: { a: 1, 'de-AT': {}, nl: {} } };
    const problems = [{ code: 'field_malformed', field: 'translations.a', message: 'is no language as de or de-AT' }];
    expect(readDefinition(kind, definition)).toEqual({ ok: false, problems });
  });

  it('is told what is wrong, and not what the rule is', () => {
    const read = readDefinition(kind, { ...least, starts_at: 2, ends_at: 1 });
    expect(!read.ok && read.problems.map(({ field, message }) => `${field} ${message}`)).toEqual([
      'ends_at is not after starts_at',
    ]);
  });

  it('never throws, whatever JSON is stored', () => {
    fc.assert(fc.property(fc.json(), (text) => [null, 'object'].includes(parseDefinition(kind, text) && 'object')));
  });
});

describe('a survey', () => {
  it('compares ratings as numbers', () =>
    checkAll(
      [
        [{ scale: 5 }, [0], false],
        [{ scale: 5 }, [6], false],
        [{ scale: 5 }, [2.5], false],
        [{ scale: 5 }, [1, 5], true],
        [{ scale: 11 }, [0, 10], true],
        [{ scale: 11 }, [11], false],
      ],
      ([scale, to, isRight]) => {
        const question = { id: 'a', type: 'rating', text: '?', ...scale, branches: [{ is: 'in', to, go_to: 'end' }] };
        const survey = { ...SURVEY, questions: [question] };
        expect(readDefinition('survey', survey).ok).toBe(isRight);
      },
    ));

  const survey = (...questions: object[]) => ({ ...SURVEY, questions });

  it('is refused with what is malformed', () =>
    checkAll(
      [
        ['no question', survey()],
        ['21 questions', survey(...Array.from({ length: 21 }, (_, index) => open(`q${index}`)))],
        ['two questions of one id', survey(open('a'), open('a'))],
        ['a question called end', survey(open('end'))],
        ['a question without text', survey(open('a', { text: '' }))],
        ['a single choice', survey({ id: 'a', type: 'single', text: 'Which?', choices: [{ id: 'x', label: 'X' }] })],
        ['a link to nowhere', survey({ id: 'a', type: 'link', text: 'See' })],
        ['a link to a script', survey({ id: 'a', type: 'link', text: 'See', url: 'javascript:alert(1)' })],
        [
          'a link to another host without scheme',
          survey({ id: 'a', type: 'link', text: 'See', url: '//evil.example' }),
        ],
        [
          'a comparison of an open answer',
          survey(open('a', { branches: [{ is: 'equals', to: ['x'], go_to: 'end' }] })),
        ],
        ['a branch on an unknown choice', survey(choice({ is: 'equals', to: ['z'], go_to: 'end' }))],
        ['a branch to an unknown question', survey(open('a', { branches: [{ is: 'answered', go_to: 'b' }] }))],
        ['a next question that is not there', survey(open('a', { next: 'b' }))],
        ['a question that comes after itself', survey(open('a', { next: 'a' }))],
        ['a way back', survey(open('a'), open('b', { branches: [{ is: 'answered', go_to: 'a' }] }))],
      ],
      ([_what, input]) => {
        expect(readDefinition('survey', input)).toMatchObject({ ok: false });
      },
    ));

  it('may branch to the end, ahead and back as long as it ends', () => {
    const first = open('a', { next: 'c' });
    const second = open('b', { next: 'end' });
    const third = open('c', { branches: [{ is: 'skipped', go_to: 'end' }], next: 'b' });
    expect(fieldsOf('survey', survey(first, second, third))).toEqual([]);
  });

  it('ends by every way of going through it', () => {
    fc.assert(fc.property(fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 6, maxLength: 6 }), endsOrIsRefused));
  });
});

/** Six questions, each with one other that comes next (6: the end). What is taken comes to its end from everywhere. */
function endsOrIsRefused(targets: number[]): boolean {
  const questions = targets.map((target, index) => open(`q${index}`, { next: target === 6 ? 'end' : `q${target}` }));
  const isTaken = readDefinition('survey', { ...SURVEY, questions }).ok;
  const ends = targets.every((_, start) => {
    let at = start;
    for (let steps = 0; steps < 6 && at !== 6; steps += 1) at = targets[at] ?? 6;
    return at === 6;
  });
  return isTaken === ends;
}

function choice(branch: object): object {
  const choices = [
    { id: 'x', label: 'X' },
    { id: 'y', label: 'Y' },
  ];
  return { id: 'a', type: 'single', text: 'Which?', choices, branches: [branch] };
}

describe('a promo', () => {
  it.each([
    [{ title: '' }, 'title'],
    [{ image_url: 'https://cdn.example/a.png' }, 'image_alt'],
    [{ button: { text: 'See' } }, 'button'],
    [{ code: 'CALL +32 475 12 34 56' }, 'code'],
  ])('is refused with %j', (change, field) => {
    expect(fieldsOf('promo', { ...PROMO, ...change })).toContain(field);
  });

  it.each(['http://cdn.example/a.png', 'data:image/png;base64,AA', '//cdn.example/a.png'])(
    'is refused with the picture %s',
    (image_url) => {
      expect(fieldsOf('promo', { ...PROMO, image_url, image_alt: 'A coat' })).toContain('image_url');
    },
  );
});

describe('a form', () => {
  const email = { name: 'email', type: 'email', label: 'E-mail' };

  it('is refused with what is malformed', () =>
    checkAll(
      [
        [{ fields: [] }, 'fields'],
        [{ fields: [email, email] }, 'fields'],
        [
          {
            fields: [
              { ...email, map: 'email' },
              { name: 'b', type: 'email', label: 'B', map: 'email' },
            ],
          },
          'fields',
        ],
        [{ fields: [{ name: 'size', type: 'select', label: 'Size' }] }, 'fields[0].options'],
        [{ fields: [{ name: 'a', type: 'text' }] }, 'fields[0].label'],
        [{ spam: { honeypot: 'email' } }, 'spam.honeypot'],
        [{ conversion_event: ' lead' }, 'conversion_event'],
        [{ redirect: 'http://shop.example/thanks' }, 'redirect'],
        [{ redirect: 'javascript:alert(1)' }, 'redirect'],
        [{ redirect: 'https://[shop/thanks' }, 'redirect'],
        [{ redirect_invalid: 'https://shop:no/again' }, 'redirect_invalid'],
      ],
      ([change, field]) => {
        expect(fieldsOf('form', { ...FORM, ...change })).toContain(field);
      },
    ));

  it('keeps nothing of a field that is not told to be kept', () => {
    const read = readDefinition('form', FORM);
    expect(read).toMatchObject({ ok: true, definition: { fields: [{ map: '', store: 'drop' }] } });
  });
});

describe('a translation', () => {
  it('may name every text that visitors read, and no other', () => {
    const questions = [choice({ is: 'equals', to: ['x'], go_to: 'end' })];
    const texts = (names: string[]) => ({ de: Object.fromEntries(names.map((name) => [name, 'x'])) });
    const taken = ['title', 'questions.a.text', 'questions.a.choices.x.label', 'thanks.text'];
    expect(fieldsOf('survey', { ...SURVEY, questions, translations: texts(taken) })).toEqual([]);
    const refused = ['id', 'name', 'questions.a.id', 'questions.b.text', 'theme.text'];
    expect(fieldsOf('survey', { ...SURVEY, questions, translations: texts(refused) })).toHaveLength(refused.length);
  });
});

it.each([
  ['a box for consent without its text', { consent_required: true }, 'consent_text'],
  [
    'a hidden field that must be filled in',
    { fields: [{ name: 'src', type: 'hidden', required: true }] },
    'fields[0].required',
  ],
])('a form with %s is refused', (_what, change, field) => {
  expect(fieldsOf('form', { ...FORM, ...change })).toEqual([field]);
});
