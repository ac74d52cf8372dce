import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  closingLine,
  drawSection,
  drawSummary,
  drawSurprises,
  type Findings,
  type Section,
} from '#services/local/demo/compare.ts';
import { progressLine, startProgress } from '#services/local/demo/run_demo.ts';
import { funnelOf } from './funnel_of.ts';

const SECTION: Section = {
  title: 'Deliveries',
  columns: ['expected', 'first', 'repeated'],
  rows: [
    { label: 'page_view', cells: [12_345, 12_345, 12_345], equal: true },
    { label: 'purchase', cells: [193, 192, 192], equal: false },
    { label: 'an event name far longer than the column for names', cells: [1, 1, 1], equal: true },
    { label: 'requests sent more than once', cells: [3], equal: null },
  ],
};

const stored = { events: 1, people: 1, byName: new Map(), funnel: funnelOf([1022, 798, 402, 3, 0]) };
const FINDINGS: Findings = {
  outcomes: [],
  sites: { shop: stored, travel: { ...stored, funnel: funnelOf([0, 0, 0, 0, 0]) } },
  deliveries: { meta: new Map(), webhook: new Map() },
};

describe('the summary', () => {
  it('draws a table', () => {
    expect(drawSection(SECTION)).toMatchInlineSnapshot(`
      "Deliveries                           expected      first   repeated
        page_view                            12,345     12,345     12,345  equal
        purchase                                193        192        192  DIFFERS
        an event name far longer than th          1          1          1  equal
        requests sent more than once              3
      "
    `);
  });

  it('draws the funnels, also one that nobody entered', () => {
    const drawn = drawSummary(FINDINGS, [SECTION], false);
    expect(drawn).toMatch(/view_item +█+▉ +798 +78.1 % +78.1 %/);
    expect(drawn).not.toMatch(/NaN|Infinity/);
  });

  it('keeps to 80 columns, however large the numbers', () => {
    const row = { label: 'x'.repeat(90), cells: [9_999_999, 9_999_999, 9_999_999], equal: false };
    const lines = [
      ...drawSection({ ...SECTION, rows: [row] }).split('\n'),
      progressLine('Waiting', 0.5, 'n'.repeat(90)),
    ];
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('shows the same words with colours and without', () => {
    const plain = drawSummary(FINDINGS, [SECTION], false);
    expect(plain).not.toContain('\u001b');
    const coloured = drawSummary(FINDINGS, [SECTION], true);
    expect(coloured).toContain('\u001b[31mDIFFERS\u001b[0m');
    expect(coloured).toContain('\u001b[32mequal\u001b[0m');
    expect(stripVTControlCharacters(coloured)).toBe(plain);
  });
});

describe('the closing line', () => {
  const withRows = (...rows: Section['rows']): Section[] => [{ ...SECTION, rows }];
  const [good, bad] = SECTION.rows;
  it.each([
    { sections: withRows(...(good ? [good] : [])), line: 'every count equal' },
    { sections: withRows(...(good && bad ? [good, bad] : [])), line: '1 count differs' },
    { sections: withRows(...(bad ? [bad, bad] : [])), line: '2 counts differ' },
  ])('says $line', ({ sections, line }) => {
    expect(closingLine(sections)).toBe(line);
  });
});

describe('surprises', () => {
  it('are gathered, the commonest first, and not mentioned where there are none', () => {
    const base = { status: 200, eventCount: 1, accepted: 1, rejected: 0, dropped: 0, tries: 1 };
    const outcomes = ['b', 'a', null, 'a'].map((surprise) => ({ ...base, surprise }));
    expect(drawSurprises(outcomes)).toEqual(['Unexpected responses', '  2 × a', '  1 × b', '']);
    expect(drawSurprises([{ ...base, surprise: null }])).toEqual([]);
  });
});

describe('progress', () => {
  function record(isTTY: boolean): string {
    let written = '';
    let clock = 0;
    const progress = startProgress(
      'Sending',
      {
        isTTY,
        write: (text) => {
          written += text;
        },
      },
      () => clock,
    );
    for (let done = 0; done <= 200; done++) {
      clock += 10;
      progress.update(done, 200, `${done} of 200`);
    }
    progress.end();
    return written;
  }

  it('is plain lines, one a tenth, where there is no terminal', () => {
    const lines = record(false).split('\n');
    expect(lines.length).toBe(12);
    expect(lines.slice(0, 3)).toMatchInlineSnapshot(`
      [
        "Sending     [                    ]   0 %  0 of 200",
        "Sending     [██                  ]  10 %  20 of 200",
        "Sending     [████                ]  20 %  40 of 200",
      ]
    `);
    expect(record(false)).not.toContain('\r');
    expect(record(false)).not.toContain('\u001b');
  });

  it('is one line redrawn in place on a terminal, ending complete', () => {
    const drawn = record(true).split('\r\u001b[K');
    expect(drawn.length).toBeLessThan(30);
    expect(drawn.at(-1)).toBe(`${progressLine('Sending', 1, '200 of 200')}\n`);
  });
});
