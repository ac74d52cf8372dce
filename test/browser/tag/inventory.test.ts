import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { InventoryBody } from '#services/tag/src/types.ts';
import { until } from '#test/harness/until.ts';
import { openBrowser, type TestBrowser } from '../harness/chromium.ts';
import { type ModulePages, startModulePages } from './harness/module_page.ts';

type TagWindow = Window & {
  tag: typeof import('#services/tag/src/page_inventory.ts');
  submitted: InventoryBody[];
  showPage(): void;
};

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

/** Starts the inventory on a page, after what `prepare` does there. */
async function looked(body: string, path?: string, prepare?: (page: Page) => Promise<void>): Promise<Page> {
  const page = await pages.open(body, path);
  await prepare?.(page);
  await page.evaluate(() => {
    const shown = window as unknown as TagWindow;
    shown.submitted = [];
    shown.tag.startInventory({
      submit: (sent) => void shown.submitted.push(sent),
      onPage(listener) {
        shown.showPage = listener;
        listener();
      },
    });
  });
  return page;
}

const submitted = (page: Page): Promise<InventoryBody[]> =>
  page.evaluate(() => (window as unknown as TagWindow).submitted);
async function first(page: Page): Promise<InventoryBody> {
  const all = await until(
    'an inventory is submitted',
    () => submitted(page),
    ({ length }) => length > 0,
  );
  return all[0] as InventoryBody;
}
const elementsOf = async (body: string) => (await first(await looked(body))).elements;

test('links, buttons, forms, fields and what the site named are listed with what they are called', async () => {
  const body = `
    <a href="/cart?session=1#top">Cart</a><button>Buy</button>
    <form name="f"><label for="m">E-mail</label><input id="m" name="mail"><input type="submit" value="Send"></form>
    <div role="button" aria-label="Close">x</div><div data-svc="banner">Sale</div>`;
  const elements = await elementsOf(body);
  expect(elements.map(({ type, text }) => [type, text])).toEqual([
    ['link', 'Cart'],
    ['button', 'Buy'],
    ['form', ''],
    ['input', 'E-mail'],
    ['button', 'Send'],
    ['button', 'Close'],
    ['element', 'Sale'],
  ]);
  expect(elements[0]?.href).toBe(`${pages.server.url}/cart`);
  expect(elements.at(-1)?.event_hint).toBe('banner');
});

test('passwords, hidden fields and other addresses than of the web are not listed with theirs', async () => {
  const elements = await elementsOf(
    '<input type="password" name="p"><input type="hidden" name="h" value="x"><a href="mailto:jane@shop.example">Write</a>',
  );
  expect(elements).toEqual([{ type: 'link', selector: 'a', text: 'Write' }]);
});

test('texts are cut to 80 characters, without e-mail addresses and long numbers', async () => {
  const [long, personal] = await elementsOf(
    `<button id="long">${'word '.repeat(40)}</button><button id="own">Call +43 660 1234567 or jane@shop.example</button>`,
  );
  expect([long?.text.length, personal?.text]).toEqual([80, 'Call *** or ***']);
});

test('the page is told without query and fragment', async () => {
  const { page, url, title } = await first(await looked('<button>Buy</button>', '/orders/123456789?email=x#y'));
  expect([page, url, title]).toEqual(['/orders/***', `${pages.server.url}/orders/***`, 'Shop']);
});

test('300 elements of a larger page are told', async () => {
  const elements = await elementsOf(Array.from({ length: 400 }, (_, i) => `<a href="/p/${i}">P ${i}</a>`).join(''));
  expect(elements).toHaveLength(300);
});

test('the same page is submitted again only when it shows something else', async () => {
  const page = await looked('<button>Buy</button>');
  await first(page);
  await page.evaluate(() => (window as unknown as TagWindow).showPage());
  await page.waitForTimeout(1500);
  expect(await submitted(page)).toHaveLength(1);
  await page.evaluate(() => {
    document.body.insertAdjacentHTML('beforeend', '<button name="more">More</button>');
    (window as unknown as TagWindow).showPage();
  });
  await until(
    'the changed page is submitted',
    () => submitted(page),
    ({ length }) => length === 2,
  );
});

test('a page that is never idle is told as well', async () => {
  const sent = await looked('<button>Buy</button>', '/', async (shown) => {
    await shown.evaluate(() => {
      const draw = (): void => {
        const until = performance.now() + 40;
        while (performance.now() < until);
        requestAnimationFrame(draw);
      };
      draw();
    });
  });
  expect((await first(sent)).elements.map(({ text }) => text)).toEqual(['Buy']);
});

/** 200 fields of all kinds, in a page that repeats what is typed as pages do: in labels, titles, links and buttons. */
const KINDS = [
  (n: number) => `<input class="f" id="f${n}">`,
  (n: number) => `<label>Field ${n} <input class="f" type="search" name="s${n}"></label>`,
  (n: number) => `<textarea class="f" aria-label="Note ${n}"></textarea>`,
  (n: number) => `<div class="f" contenteditable="true" role="button" data-svc="edit-${n}"></div>`,
  (n: number) => `<form><input class="f" type="tel" placeholder="Phone ${n}"><button>Send</button></form>`,
  (n: number) => `<input class="f" type="password" aria-label="Secret ${n}">`,
  (n: number) => `<div role="textbox" tabindex="0" class="f" contenteditable></div><button>Save ${n}</button>`,
  (n: number) => `<a href="/edit/${n}"><span class="f" contenteditable></span></a>`,
] as const;
const FIELDS = Array.from({ length: 200 }, (_, n) => (KINDS[n % KINDS.length] as (n: number) => string)(n));

test('nothing that was typed into 200 fields is submitted, also where the page repeats it', async () => {
  const page = await looked(FIELDS.join('\n'), '/', async (shown) => {
    await shown.evaluate(() => {
      for (const [n, field] of [...document.querySelectorAll<HTMLInputElement>('.f')].entries()) {
        const typed = `canary${n}x ${n}`;
        if (field.isContentEditable) field.textContent = typed;
        else {
          field.value = typed;
          // As frameworks do that keep attribute and content in step with the value.
          field.setAttribute('value', typed);
          if (field instanceof HTMLTextAreaElement) field.textContent = typed;
        }
        field.insertAdjacentHTML(
          'afterend',
          `<button>Clear ${typed}</button><a href="/search/${encodeURIComponent(typed)}">Look</a>
           <button aria-label="Remove ${typed}" title="${typed}">x</button><button id="b-${typed}">y</button>`,
        );
      }
      document.title = 'Results for canary0x 0';
    });
  });
  const sent = await first(page);
  expect(JSON.stringify(sent)).not.toContain('canary');
  expect(sent.title).toBe('');
  expect(sent.elements.length).toBeGreaterThan(100);
});

/** The inventory of a page on which this was typed. */
async function typedInto(typed: string, repeated: string, path?: string): Promise<InventoryBody> {
  const page = await looked(`<textarea></textarea><button>Buy</button>${repeated}`, path, (shown) =>
    shown.fill('textarea', typed),
  );
  return first(page);
}

test.each([
  ['with quotes and backslashes', 'my "red\\blue" shoes', '<button>Clear my "red\\blue" shoes</button>'],
  ['over lines and with double spaces', 'red\n  blue', '<button>Clear red blue</button>'],
  ['beyond what is told of a text', 'blue shoes', `<button>${'word '.repeat(15)}blue shoes</button>`],
  ['in the path of a link', "o'neil & co", `<a href="/s/o'neil%20&%20co">Again</a>`],
])('what was typed is left out %s', async (_, typed, repeated) =>
  expect((await typedInto(typed, repeated)).elements.map(({ text }) => text)).toEqual(['', 'Buy']),
);

test('what was typed is left out of the page and its address', async () => {
  const { page, url } = await typedInto('Jane Doe', '', '/people/jane%20doe/edit');
  expect([page, url]).toEqual(['/people/***/edit', `${pages.server.url}/people/***/edit`]);
});

test('forms with fields of any name and elements with any name keep nothing from being told', async () => {
  const page = await looked(
    `<form data-svc="stay"><input name="children"><input name="getAttribute"><button>Book</button></form>
     <section><o:p role="button">Word</o:p><o:p role="button">Word</o:p></section><a href="/x">Last</a>`,
    '/',
    async (shown) => {
      await shown.evaluate(() => {
        (window as { errors?: unknown[] }).errors = [];
        addEventListener('error', ({ message }) => (window as unknown as { errors: unknown[] }).errors.push(message));
      });
    },
  );
  const { elements } = await first(page);
  expect(elements.map(({ text }) => text)).toEqual(expect.arrayContaining(['Book', 'Word', 'Last']));
  expect(await page.evaluate(() => (window as { errors?: unknown[] }).errors)).toEqual([]);
});
