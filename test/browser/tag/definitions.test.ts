import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DefinitionsHost, EventDefinition, Properties } from '#services/tag/src/types.ts';
import { until } from '#test/harness/until.ts';
import { openBrowser, type TestBrowser } from '../harness/chromium.ts';
import { definition } from './harness/definition.ts';
import { type ModulePages, startModulePages } from './harness/module_page.ts';

type Module = typeof import('#services/tag/src/fire_definitions.ts');
interface Fired {
  name: string;
  properties: Properties;
}
type TagWindow = Window & {
  tag: Module;
  fired: Fired[];
  showPage(): void;
  host: DefinitionsHost;
};

let browser: TestBrowser;
let pages: ModulePages;
beforeAll(async () => {
  browser = await openBrowser('shell');
  pages = await startModulePages(browser, 'fire_definitions.ts');
});
afterAll(async () => {
  await pages.close();
  await browser.close();
});

async function opened(body: string, definitions: EventDefinition[], path?: string): Promise<Page> {
  const page = await pages.open(body, path);
  await page.evaluate((events) => {
    const shown = window as unknown as TagWindow;
    shown.fired = [];
    shown.host = {
      track: (name, properties) => void shown.fired.push({ name, properties }),
      onPage(listener) {
        shown.showPage = listener;
        listener();
      },
    };
    shown.tag.startDefinitions(events, shown.host);
  }, definitions);
  return page;
}

const fired = (page: Page): Promise<Fired[]> => page.evaluate(() => (window as unknown as TagWindow).fired);
const names = async (page: Page): Promise<string[]> => (await fired(page)).map(({ name }) => name);
const showPage = (page: Page, path: string): Promise<void> =>
  page.evaluate((to) => {
    history.pushState(null, '', to);
    (window as unknown as TagWindow).showPage();
  }, path);
const untilFired = (page: Page): Promise<Fired[]> =>
  until(
    'a definition fires',
    () => fired(page),
    ({ length }) => length > 0,
  );

test('pageview fires with its own properties and its id', async () => {
  const page = await opened('', [definition({ trigger: 'pageview', properties: { plan: 'pro' } })]);
  expect(await fired(page)).toEqual([{ name: 'fired', properties: { plan: 'pro', $definition_id: 'd' } }]);
});

test('pageview fires on each page of a single-page application that its pattern matches', async () => {
  const page = await opened('', [definition({ trigger: 'pageview', url_pattern: '/thanks*' })]);
  await showPage(page, '/thanks');
  await showPage(page, '/other');
  await showPage(page, '/thanks?order=1');
  expect(await fired(page)).toHaveLength(2);
});

test('click fires for what is inside the element', async () => {
  const page = await opened('<button id="buy">Buy <b>now</b></button><button>Other</button>', [
    definition({ selector: '#buy' }),
  ]);
  await page.click('b');
  await page.click('text=Other');
  expect(await fired(page)).toHaveLength(1);
});

test('click fires though the page stops the event, and for what was built later', async () => {
  const page = await opened('<main></main>', [definition({ selector: '.buy' })]);
  await page.evaluate(() => {
    const main = document.querySelector('main') as HTMLElement;
    main.innerHTML = '<button class="buy">Buy</button>';
    main.firstElementChild?.addEventListener('click', (event) => event.stopImmediatePropagation());
  });
  await page.click('.buy');
  expect(await fired(page)).toHaveLength(1);
});

test('click fires in an open shadow root', async () => {
  const page = await opened('<x-card></x-card>', [definition({ selector: '.buy' })]);
  await page.evaluate(() => {
    const root = document.querySelector('x-card')?.attachShadow({ mode: 'open' }) as ShadowRoot;
    root.innerHTML = '<button class="buy">Buy</button>';
  });
  await page.click('.buy');
  expect(await fired(page)).toHaveLength(1);
});

test('a click without a selector is about the whole button, whose text is compared in any case', async () => {
  const page = await opened('<button>Add <b>to</b> cart</button><button>Remove</button>', [
    definition({ text_contains: 'ADD TO CART' }),
  ]);
  await page.click('b');
  await page.click('text=Remove');
  expect(await fired(page)).toHaveLength(1);
});

test('submit fires with the fields that are asked for, and no password', async () => {
  const page = await opened(
    '<form onsubmit="return false"><input name="email"><input type="password" name="p"><button>Go</button></form>',
    [
      definition({
        trigger: 'submit',
        selector: 'form',
        field_selectors: { email: '[name=email]', secret: '[name=p]' },
      }),
    ],
  );
  await page.fill('[name=email]', 'jane@shop.example');
  await page.fill('[name=p]', 'a secret');
  await page.click('button');
  expect((await fired(page))[0]?.properties).toEqual({ email: 'jane@shop.example', $definition_id: 'd' });
});

test.each(['name="card-number"', 'autocomplete="cc-csc"', 'id="iban"', 'name="password" type="text"'])(
  'a field with %s is never read',
  async (attributes) => {
    const page = await opened(`<input class="f" ${attributes}><button>Go</button>`, [
      definition({ selector: 'button', field_selectors: { field: '.f' } }),
    ]);
    await page.fill('.f', '4242');
    await page.click('button');
    expect((await fired(page))[0]?.properties).toEqual({ $definition_id: 'd' });
  },
);

test('a card number is not read out of a field of any name', async () => {
  const page = await opened('<input name="note"><button>Go</button>', [
    definition({ selector: 'button', field_selectors: { note: '[name=note]' } }),
  ]);
  await page.fill('input', '4111 1111 1111 1111');
  await page.click('button');
  expect((await fired(page))[0]?.properties).toEqual({ $definition_id: 'd' });
});

test('change fires with the chosen value', async () => {
  const page = await opened('<select name="size"><option>S<option>M</select>', [
    definition({ trigger: 'change', selector: '[name=size]', field_selectors: { size: '[name=size]' } }),
  ]);
  await page.selectOption('select', 'M');
  expect((await fired(page))[0]?.properties).toEqual({ size: 'M', $definition_id: 'd' });
});

test('visible fires once a page when the element comes into view', async () => {
  const page = await opened('<div style="height:3000px"></div><p id="end">End</p>', [
    definition({ trigger: 'visible', selector: '#end' }),
  ]);
  await page.waitForTimeout(200);
  expect(await fired(page)).toEqual([]);
  await page.locator('#end').scrollIntoViewIfNeeded();
  await untilFired(page);
  await page.evaluate(() => scrollTo(0, 0));
  await page.locator('#end').scrollIntoViewIfNeeded();
  await page.waitForTimeout(200);
  expect(await fired(page)).toHaveLength(1);
  await showPage(page, '/next');
  await until(
    'it fires on the next page',
    () => fired(page),
    ({ length }) => length === 2,
  );
});

test('visible fires for what the page builds later, and for what is taller than the view', async () => {
  const page = await opened('<main></main>', [definition({ trigger: 'visible', selector: '.late' })]);
  await page.waitForTimeout(400);
  await page.evaluate(() => {
    (document.querySelector('main') as HTMLElement).innerHTML = '<p class="late" style="height:9000px">Late</p>';
  });
  expect(await untilFired(page)).toHaveLength(1);
});

test('scroll fires once when the part of the page that is asked for was seen', async () => {
  const page = await opened('<div style="height:4000px"></div>', [
    definition({ trigger: 'scroll', properties: { scroll_percent: 90 } }),
  ]);
  await page.evaluate(() => scrollTo(0, 1500));
  await page.waitForTimeout(200);
  expect(await fired(page)).toEqual([]);
  await page.evaluate(() => scrollTo(0, 3900));
  await untilFired(page);
  await page.evaluate(() => scrollTo(0, 3800));
  await page.waitForTimeout(200);
  expect(await fired(page)).toEqual([{ name: 'fired', properties: { scroll_percent: 90, $definition_id: 'd' } }]);
});

test('timer fires after its seconds, unless the page was left before', async () => {
  const page = await opened('', [
    definition({ trigger: 'timer', url_pattern: '/', properties: { timer_seconds: 0.5 } }),
    definition({ name: 'late', trigger: 'timer', url_pattern: '/', properties: { timer_seconds: 3 } }),
  ]);
  expect(await fired(page)).toEqual([]);
  expect(await untilFired(page)).toHaveLength(1);
  await showPage(page, '/next');
  await page.waitForTimeout(3000);
  expect(await names(page)).toEqual(['fired']);
});

test('custom adds to what the page tracks under its name, which says more than the definition', async () => {
  const page = await opened('<b id="total">€ 1.234,50</b>', [
    definition({ trigger: 'custom', name: 'quiz', properties: { a: 1, b: 1 }, value_selector: '#total' }),
  ]);
  const given = await page.evaluate(() => {
    const { host } = window as unknown as TagWindow;
    return [host.enrich?.('quiz', { b: 2 }), host.enrich?.('other', { b: 2 })];
  });
  expect(given).toEqual([{ a: 1, b: 2, value: 1234.5, $definition_id: 'd' }, { b: 2 }]);
  expect(await fired(page)).toEqual([]);
});

const PRODUCTS = ['9,99', '19,99'].map(
  (price) => `<li><span class="price">${price} €</span><input class="n" value="2"><button>Buy</button></li>`,
);

test('the value is read beside the element that was clicked', async () => {
  const page = await opened(`<ul>${PRODUCTS.join('')}</ul>`, [
    definition({ selector: 'li button', value_selector: '.price', field_selectors: { quantity: '.n' } }),
  ]);
  await page.click('li:nth-child(2) button');
  expect((await fired(page))[0]?.properties).toEqual({ value: 19.99, quantity: 2, $definition_id: 'd' });
});

test('malformed selectors cost their own definition or field only', async () => {
  const page = await opened('<button>Buy</button>', [
    definition({ name: 'broken', selector: 'button[' }),
    definition({ name: 'broken', trigger: 'pageview', selector: ']' }),
    definition({ name: 'broken', trigger: 'visible', selector: '((' }),
    definition({ name: 'whole', value_selector: '[[', field_selectors: { label: 'button', bad: ':nope' } }),
  ]);
  await page.click('button');
  await page.waitForTimeout(200);
  expect(await fired(page)).toEqual([{ name: 'whole', properties: { label: 'Buy', $definition_id: 'd' } }]);
});

test('a definition that is not enabled does not fire', async () => {
  const page = await opened('<button>Buy</button>', [definition({ enabled: false })]);
  await page.click('button');
  expect(await fired(page)).toEqual([]);
});
