import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Section } from '#services/local/demo/compare.ts';
import { drawFunnel } from '#services/local/demo/report/funnel_chart.ts';
import { progressLine, startProgress } from '#services/local/demo/report/progress.ts';
import { closingLine, drawSurprises } from '#services/local/demo/report/summary.ts';
import { drawSection } from '#services/local/demo/report/table.ts';
import { styleFor } from '#services/terminal_style.ts';

const PLAIN = styleFor(false);
const COLOURED = styleFor(true);

const SECTION: Section = {
  title: 'ClickHouse, shop',
  columns: ['expected', 'rows', 'ids'],
  rows: [
    { label: 'page_view', cells: [12_345, 12_345, 12_345], equal: true },
    { label: 'purchase', cells: [193, 192, 192], equal: false },
    { label: 'an event name far longer than the column for names', cells: [1, 1, 1], equal: true },
    { label: 'requests sent more than once', cells: [3], equal: null },
  ],
};

const FUNNEL = {
  title: 'shop: from page to purchase, by person',
  steps: ['page_view', 'view_item', 'add_to_cart', 'begin_checkout', 'purchase'],
  found: [1022, 798, 402, 3, 0],
  expected: [1022, 798, 402, 240, 0],
};

describe('without colours', () => {
  it('draws a table', () => {
    expect(drawSection(SECTION, PLAIN).join('\n')).toMatchInlineSnapshot(`
      "ClickHouse, shop                      expected       rows        ids
        page_view                             12,345     12,345     12,345  equal
        purchase                                 193        192        192  DIFFERS
        an event name far longer than th…          1          1          1  equal
        requests sent more than once               3
      "
    `);
  });

  it('draws a funnel', () => {
    expect(drawFunnel(FUNNEL, PLAIN).join('\n')).toMatchInlineSnapshot(`
      "shop: from page to purchase, by person         people of first of prev.  ledger
        page_view      ████████████████████████████   1,022  100.0 %            1,022
        view_item      █████████████████████▉           798   78.1 %   78.1 %     798
        add_to_cart    ███████████                      402   39.3 %   50.4 %     402
        begin_checkout ▏                                  3    0.3 %    0.7 %     240
        purchase                                          0    0.0 %    0.0 %       0
      "
    `);
  });

  it('draws a funnel that nobody entered', () => {
    const drawn = drawFunnel({ ...FUNNEL, found: [0, 0, 0, 0, 0] }, PLAIN);
    expect(drawn.join('\n')).not.toMatch(/NaN|Infinity|█/);
  });

  it('keeps to 80 columns, however large the numbers', () => {
    const large = {
      ...SECTION,
      rows: [{ label: 'x'.repeat(90), cells: [99_999_999, 99_999_999, 99_999_999], equal: false }],
    };
    const funnel = { ...FUNNEL, found: [999_999, 999_999, 1, 1, 1], expected: [999_999, 1, 1, 1, 1] };
    const lines = [
      ...drawSection(large, PLAIN),
      ...drawFunnel(funnel, PLAIN),
      progressLine('Waiting', 1, 2, 'n'.repeat(90)),
    ];
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('writes no escape sequence', () => {
    const text = [...drawSection(SECTION, PLAIN), ...drawFunnel(FUNNEL, PLAIN), closingLine([SECTION], PLAIN)].join(
      '\n',
    );
    expect(text).not.toContain('\u001b');
  });
});

describe('with colours', () => {
  it('shows the same words', () => {
    const coloured = [...drawSection(SECTION, COLOURED), ...drawFunnel(FUNNEL, COLOURED)].join('\n');
    expect(coloured).toContain('\u001b[31m');
    expect(stripVTControlCharacters(coloured)).toBe(
      [...drawSection(SECTION, PLAIN), ...drawFunnel(FUNNEL, PLAIN)].join('\n'),
    );
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
    expect(closingLine(sections, PLAIN)).toBe(line);
  });
});

describe('surprises', () => {
  it('are gathered, the commonest first, and not mentioned where there are none', () => {
    const base = { status: 200, eventCount: 1, accepted: 1, rejected: 0, dropped: 0, tries: 1 };
    const outcomes = ['b', 'a', null, 'a'].map((surprise) => ({ ...base, surprise }));
    expect(drawSurprises(outcomes, PLAIN)).toEqual(['Answers that were not as planned', '  2 × a', '  1 × b', '']);
    expect(drawSurprises([{ ...base, surprise: null }], PLAIN)).toEqual([]);
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
    expect(drawn.at(-1)).toBe(`${progressLine('Sending', 200, 200, '200 of 200')}\n`);
  });
});
