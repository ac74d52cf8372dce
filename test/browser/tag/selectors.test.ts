import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBrowser, type TestBrowser } from '../harness/chromium.ts';
import { type ModulePages, startModulePages } from './harness/module_page.ts';
import { rebuiltShop, SHOP_TARGETS } from './harness/rebuilt_shop.ts';

type TagWindow = Window & { tag: { selectorOf: typeof import('#services/tag/src/page_inventory.ts').selectorOf } };

let browser: TestBrowser;
let pages: ModulePages;
beforeAll(async () => {
  browser = await openBrowser('shell');
  pages = await startModulePages(browser, 'page_inventory.ts');
});
afterAll(async () => {
  await pages.close();
  await browser.close();
});

const selectorOf = (page: Page, element: string): Promise<string> =>
  page.evaluate((found) => {
    const { tag } = window as unknown as TagWindow;
    return tag.selectorOf(document.querySelector(found) as Element);
  }, element);

test.each([
  ['what the site named for us', '<button data-svc="buy" id="b" name="n">', '[data-svc="buy"]'],
  ['a test id', '<button data-testid="buy" name="n">', '[data-testid="buy"]'],
  ['its name', '<button id="b" name="buy">', '[name="buy"]'],
  ['an id that was chosen', '<button id="buy" aria-label="Buy">', '#buy'],
  ['its label, as the id is generated', '<button id=":r1:" aria-label="Buy">', '[aria-label="Buy"]'],
  ['its label', '<button aria-label="Close \\"x\\"">', '[aria-label="Close \\\\\\"x\\\\\\""]'],
  ['the path of a link', '<a class="t" href="/cart?session=1">', '[href^="/cart"]'],
  ['its kind, when it is the only one', '<button class="css-1x2y">', 'button'],
])('%s', async (_what, element, expected) => {
  const page = await pages.open(element.replaceAll('\\"', '&quot;'));
  expect(await selectorOf(page, 'body > *')).toBe(expected.replaceAll('\\\\\\"', '\\"'));
});

test('what is not named is found by its kind under what is', async () => {
  const page = await pages.open('<form name="f"><button class="t">Go</button></form><button>Go</button>');
  expect(await selectorOf(page, '.t')).toBe('[name="f"] button');
});

test('what its text alone tells apart is left to the text', async () => {
  const page = await pages.open('<button class="css-1">Buy</button><button class="t css-2">Sell</button>');
  expect(await selectorOf(page, '.t')).toBe('button');
});

test('a class that was chosen comes before a position, and one of a build does not', async () => {
  const page = await pages.open('<i class="sc-bdVaJa"></i><i class="css-x1 t star"></i><i></i>');
  expect(await selectorOf(page, '.t')).toBe('i.t');
  expect(await selectorOf(page, '.sc-bdVaJa')).toMatch(/i:nth-child\(1\)$/);
});

test('personal data never stands in a selector', async () => {
  const page = await pages.open(
    '<button aria-label="Remove jane@shop.example">x</button><a href="tel:+436601234567">y</a>',
  );
  expect([await selectorOf(page, 'button'), await selectorOf(page, 'a')]).toEqual(['button', 'a']);
});

test('at least 95 % of definitions still find their element, and only it, after 20 rebuilds with other classes and order', async () => {
  const page = await pages.open(rebuiltShop(0));
  const definitions = await page.evaluate((targets) => {
    const { tag } = window as unknown as TagWindow;
    return targets.map((target) => {
      const element = document.querySelector(`[data-truth="${target}"]`) as HTMLElement;
      return { target, selector: tag.selectorOf(element), text: element.textContent?.trim() ?? '' };
    });
  }, SHOP_TARGETS);
  expect(definitions.filter(({ selector }) => selector.includes('truth'))).toEqual([]);
  const missed: string[] = [];
  for (let seed = 1; seed <= 20; seed++) {
    await page.evaluate((body) => {
      document.body.innerHTML = body;
    }, rebuiltShop(seed));
    missed.push(
      ...(await page.evaluate(
        (all) =>
          all
            .filter(({ target, selector, text }) => {
              const found = [...document.querySelectorAll(selector)].filter((one) => one.textContent?.includes(text));
              return found.length !== 1 || found[0]?.getAttribute('data-truth') !== target;
            })
            .map(({ target, selector }) => `${target}: ${selector}`),
        definitions,
      )),
    );
  }
  expect(missed.length, [...new Set(missed)].join('; ')).toBeLessThanOrEqual(0.05 * 20 * SHOP_TARGETS.length);
});
