// Lets somebody of the team choose an element of the page for an event definition, as the dashboard asked in the fragment of
// the page's address: `#svc-pick=<nonce>`.

import { element as make } from '#services/engage_panels/panel_frame.ts';
import { resolveBatch } from '../own_script.ts';
import { guarded } from '../page.ts';
import { LISTED, nameOf } from '../page_inventory.ts';
import { type Candidate, candidatesFor, type PickedElement, usualOf } from '../pick_selectors.ts';
import { masked } from '../redact.ts';

/** Of this installation, set by the edge; null: a choice can only be copied. Nothing is told to anybody else. */
declare const DASHBOARD_ORIGIN: string | null;

/** What of a choice leaves the page. */
interface Choice {
  selector: string;
  trigger: 'click' | 'submit' | 'change';
  /** Without query and fragment. */
  url: string;
  tag: string;
  /** What a link or button says, or what a field is called; never what stands in one. */
  label: string;
  count: number;
}

const IN_ADDRESS = /[#?&]svc-pick=([\w-]*)/;
const HEARD_MS_MAX = 1500;
const CLOSING_MS_MAX = 300;
const LABEL_CHARACTERS_MAX = 80;
const BOXES_MAX = 50;
/** Of a form whose fields have the names of what is read of it there would be no end. */
const DEPTH_MAX = 200;
/** What a click is about, so that the whole button is offered and not the word in it. */
const CLICKABLE = 'a,button,summary,label,input,select,textarea,[role=button],[role=link],[data-svc]';
const REACHED = `${LISTED},summary,label,[role],[tabindex],[data-testid]`;
const HINT = 'Click an element, or use Tab and the arrow keys, then Enter. Space pauses, Escape leaves.';
const LIMIT = 'Elements inside frames and closed shadow roots cannot be chosen.';
const PAUSED = 'Paused: open a menu or a dialog of the page, then go on. A link leads away.';

const RULES = `:host{all:initial!important}\
*{box-sizing:border-box;font:inherit;color:inherit;margin:0}\
.layer{position:fixed;inset:0;width:100vw;height:100vh;max-width:none;max-height:none;border:0;padding:0;overflow:hidden;background:none;color:#1c1c1e;font:14px/1.5 system-ui,sans-serif}\
.glass{position:absolute;inset:0;cursor:crosshair}\
.box{position:absolute;pointer-events:none;outline:1px dashed #1f4fd8}\
.chosen{outline:3px solid #1f4fd8;background:#1f4fd822}\
.panel{position:absolute;inset:auto 16px 16px auto;width:min(400px,100vw - 32px);max-height:calc(100vh - 32px);overflow:auto;display:grid;gap:10px;padding:16px;background:#fff;border:1px solid #767676;border-radius:8px}\
.layer.paused{inset:auto 0 0 auto;width:432px;max-width:100vw;height:auto}\
.paused .panel{position:static;margin:16px}.paused .glass,.paused .box{display:none}\
h2{font-weight:600;font-size:16px}\
code,textarea{font-family:monospace;overflow-wrap:anywhere}\
textarea{width:100%;min-height:80px;border:1px solid #767676;background:#fff}\
.row{display:flex;flex-wrap:wrap;gap:8px}\
button{min-height:36px;padding:4px 12px;border:1px solid #767676;border-radius:6px;background:#fff;cursor:pointer}\
button:disabled{color:#6b6b6b;cursor:default}\
.main{background:#1f4fd8;border-color:#1f4fd8;color:#fff}\
:focus-visible{outline:3px solid #1f4fd8;outline-offset:2px}\
h2:focus{outline:0}`;

const attributesOf = (element: Element): Record<string, string> =>
  Object.fromEntries(
    [...Reflect.get(Element.prototype, 'attributes', element)].map(({ name, value }) => [name, value]),
  );

function describe(element: Element): PickedElement {
  let place = 1;
  for (let one = element.previousElementSibling; one; one = one.previousElementSibling) {
    if (one.localName === element.localName) place++;
  }
  return { tag: element.localName, attributes: attributesOf(element), place };
}

const isOwn = (element: Element): boolean => element.localName === 'svc-pick';

/** The document and the open shadow roots in it but for the overlay's, where definitions find elements too. */
function rootsIn(root: ParentNode = document): ParentNode[] {
  const hosts = [...root.querySelectorAll('*')].filter((one) => one.shadowRoot && !isOwn(one));
  return [root, ...hosts.flatMap(({ shadowRoot }) => rootsIn(shadowRoot as ShadowRoot))];
}

function allOf(selector: string, roots: readonly ParentNode[]): Element[] {
  try {
    return roots.flatMap((root) => [...root.querySelectorAll(selector)]);
  } catch {
    // No selector of this browser's.
    return [];
  }
}

function candidatesOf(element: Element): Candidate[] {
  const roots = rootsIn();
  // The element and those around it in its own tree, which is all that a selector of a definition sees.
  const path = new Map<PickedElement, Element>();
  for (let one: Element | null = element; one && path.size < DEPTH_MAX; one = one.parentElement) {
    path.set(describe(one), one);
  }
  return candidatesFor([...path.keys()], (selector, of) => {
    const all = allOf(selector, roots);
    return all.includes(path.get(of) as Element) ? all.length : 0;
  });
}

/** What is at a point below the overlay, through open shadow roots. */
function elementAt(x: number, y: number, root: Document | ShadowRoot = document): Element | undefined {
  const found = root.elementsFromPoint(x, y).find((one) => !isOwn(one) && one.getRootNode() === root);
  return (found?.shadowRoot && elementAt(x, y, found.shadowRoot)) ?? found;
}

const outOf = (element: Element): Element | undefined =>
  element.parentElement ?? (element.getRootNode() as Partial<ShadowRoot>).host;
const into = (element: Element): Element | null | undefined =>
  (element.shadowRoot ?? element).firstElementChild ?? undefined;

/** What Tab goes through: what is seen of what definitions are usually about. */
const reachable = (): Element[] =>
  allOf(REACHED, rootsIn()).filter((one) => !isOwn(one) && one.getClientRects().length > 0);

const labelOf = (element: Element): string =>
  (element.matches(LISTED) ? masked(nameOf(element)) : '').slice(0, LABEL_CHARACTERS_MAX);

function choiceOf(element: Element, { selector, count }: Candidate): Choice {
  const isField = element.matches('select,textarea,input:not([type=submit],[type=button],[type=reset],[type=image])');
  return {
    selector,
    trigger: element.localName === 'form' ? 'submit' : isField ? 'change' : 'click',
    url: location.origin + masked(location.pathname),
    tag: element.localName,
    label: labelOf(element),
    count,
  };
}

/** Tells the dashboard that opened this page, and no other window; whether it says that it heard it. */
function handOver(nonce: string, choice: Choice): Promise<boolean> {
  return new Promise((resolve) => {
    const to = window.opener as Window | null;
    if (!to || DASHBOARD_ORIGIN === null) return resolve(false);
    const heard = ({ source, origin, data }: MessageEvent): void => {
      if (
        source === to &&
        origin === DASHBOARD_ORIGIN &&
        (data as { svc_heard?: unknown } | null)?.svc_heard === nonce
      ) {
        resolve(true);
      }
    };
    addEventListener('message', heard);
    to.postMessage({ svc_pick: nonce, choice }, DASHBOARD_ORIGIN);
    setTimeout(() => {
      removeEventListener('message', heard);
      resolve(false);
    }, HEARD_MS_MAX);
  });
}

/** Ends the choosing: the tab was opened for it. One that the browser does not close becomes an ordinary visit. */
function leave(): void {
  close();
  setTimeout(() => {
    history.replaceState(history.state, '', location.href.replace(IN_ADDRESS, ''));
    location.reload();
  }, CLOSING_MS_MAX);
}

type State = 'point' | 'review' | 'pause' | 'over';

function startPicking(nonce: string): void {
  const host = document.createElement('svc-pick');
  host.dataset['svcPrivate'] = '';
  const root = host.attachShadow({ mode: 'open' });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(RULES);
  root.adoptedStyleSheets = [sheet];
  const boxes = make('div');
  const title = make('h2', { tabIndex: -1, textContent: 'Choose an element' });
  const said = make('p', { role: 'status' });
  const code = make('code');
  const hint = make('p');
  const buttons = make('div', { className: 'row' });
  const panel = make(
    'div',
    { className: 'panel', role: 'dialog', ariaLabel: 'Choose an element for an event definition' },
    title,
    ...[said, code, hint, buttons],
  );
  const glass = make('div', { className: 'glass' });
  const layer = make('div', { className: 'layer', popover: 'manual' }, glass, boxes, panel);
  root.append(layer);

  let state: State = 'point';
  let element: Element | undefined;
  let candidates: Candidate[] = [];
  let at = 0;

  function draw(): void {
    const selector = candidates[at]?.selector;
    const alike = selector ? allOf(selector, rootsIn()).filter((one) => one !== element) : [];
    const shown = element ? [...alike.slice(0, BOXES_MAX), element] : [];
    boxes.replaceChildren(
      ...shown.map((one) => {
        const { left, top, width, height } = one.getBoundingClientRect();
        const box = make('div', { className: one === element ? 'box chosen' : 'box' });
        Object.assign(box.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
        return box;
      }),
    );
  }

  /** A form whose fields have the names of what is read of it cannot be chosen. */
  const look = guarded((next: Element | undefined): void => {
    if (!next || next === element) return;
    candidates = candidatesOf(next);
    element = next;
    at = usualOf(candidates);
    describeIt();
  });

  function describeIt(): void {
    const candidate = candidates[at];
    if (!element) return;
    const label = labelOf(element);
    const count = candidate ? `${candidate.count} ${candidate.count === 1 ? 'element' : 'elements'}` : 'nothing';
    said.textContent = `${element.localName}${label ? ` “${label}”` : ''}: matches ${count}`;
    code.textContent = candidate?.selector ?? '';
    draw();
  }

  const button = (textContent: string, onclick: () => void, more: Partial<HTMLButtonElement> = {}): HTMLButtonElement =>
    make('button', { type: 'button', textContent, onclick, ...more });

  function show(next: State, focus?: string): void {
    state = next;
    layer.classList.toggle('paused', next === 'pause');
    const leaving = button('Leave', leave);
    const isLast = at >= candidates.length - 1;
    const rows: Record<State, HTMLButtonElement[]> = {
      point: [button('Pause', pause), leaving],
      review: [
        button('Use this element', () => void use(), { className: 'main' }),
        button('Tighter', () => step(-1, 'Tighter'), { disabled: at === 0 }),
        button('Wider', () => step(1, 'Wider'), { disabled: isLast }),
        button('Choose another', point),
        leaving,
      ],
      pause: [button('Go on', point, { className: 'main' }), leaving],
      over: [leaving],
    };
    hint.textContent = { point: `${HINT} ${LIMIT}`, review: '', pause: PAUSED, over: '' }[next];
    buttons.replaceChildren(...rows[next]);
    const wanted = rows[next].find(({ textContent, disabled }) => !disabled && textContent === focus);
    (wanted ?? (next === 'point' ? title : (buttons.querySelector('button') as HTMLElement))).focus();
  }

  function point(): void {
    // Above what the page has opened meanwhile.
    if (layer.matches(':popover-open')) layer.hidePopover();
    layer.showPopover();
    show('point');
    describeIt();
  }
  function pause(): void {
    boxes.replaceChildren();
    show('pause');
  }
  function step(by: number, pressed: string): void {
    at += by;
    describeIt();
    show('review', pressed);
  }
  function review(): void {
    if (candidates[0]) show('review', 'Use this element');
  }
  async function use(): Promise<void> {
    const candidate = candidates[at];
    if (!element || !candidate) return;
    const choice = choiceOf(element, candidate);
    const isHeard = await handOver(nonce, choice);
    show('over');
    title.textContent = isHeard ? 'The dashboard has it' : 'Copy it to the dashboard';
    hint.textContent = isHeard ? 'This tab can be closed.' : 'This page has no way to the dashboard: paste this there.';
    if (!isHeard) copyBox(JSON.stringify(choice));
  }
  function copyBox(value: string): void {
    const text = make('textarea', { readOnly: true, value, ariaLabel: 'What was chosen' });
    const copy = async (): Promise<void> => {
      text.select();
      // A page may forbid it; what is selected is copied by keyboard.
      const isCopied = await navigator.clipboard.writeText(value).then(
        () => true,
        () => false,
      );
      said.textContent = isCopied ? 'Copied' : 'Selected: copy it by Ctrl+C or Cmd+C';
    };
    hint.after(text);
    const copying = button('Copy', () => void copy(), { className: 'main' });
    buttons.prepend(copying);
    copying.focus();
  }

  function move(next: Element | null | undefined): void {
    look(next ?? undefined);
    element?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    draw();
  }
  function tab(by: number): void {
    const all = reachable();
    const from = element ? all.indexOf(element) : -1;
    move(all[(Math.max(from + by, from < 0 ? 0 : -1) + all.length) % all.length]);
  }
  /** The next button of this panel, and none of the page. */
  function tabHere(by: number): void {
    const all = [...panel.querySelectorAll<HTMLElement>('button:enabled,textarea')];
    all[(all.indexOf(root.activeElement as HTMLElement) + by + all.length) % all.length]?.focus();
  }
  const KEYS: Record<string, (by: number) => void> = {
    Tab: tab,
    ArrowUp: () => move(element && outOf(element)),
    ArrowDown: () => move(element && into(element)),
    ArrowLeft: () => move(element?.previousElementSibling),
    ArrowRight: () => move(element?.nextElementSibling),
    Enter: review,
    ' ': pause,
    Escape: leave,
  };
  function onKey(event: KeyboardEvent): void {
    if (state === 'pause' || event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopImmediatePropagation();
    const isButton = root.activeElement instanceof HTMLButtonElement && /^( |Enter)$/.test(event.key);
    // Pressed by the browser, where it has the focus.
    if (isButton) return;
    const by = event.shiftKey ? -1 : 1;
    if (state === 'point') event.preventDefault();
    if (event.type !== 'keydown') return;
    if (state === 'point') KEYS[event.key]?.(by);
    else if (event.key === 'Tab') {
      event.preventDefault();
      tabHere(by);
    } else if (event.key === 'Escape') (state === 'review' ? point : leave)();
  }

  for (const type of ['keydown', 'keypress', 'keyup'] as const) addEventListener(type, onKey, true);
  for (const type of ['scroll', 'resize']) addEventListener(type, () => state !== 'pause' && draw(), true);
  glass.onpointermove = ({ clientX, clientY }) => {
    if (state === 'point') look(wholeOf(elementAt(clientX, clientY)));
  };
  glass.onpointerdown = (event) => event.preventDefault();
  glass.onclick = ({ clientX, clientY }) => {
    look(wholeOf(elementAt(clientX, clientY)));
    if (state === 'point' || state === 'review') review();
  };
  // Nothing that is done in here is a click on the page.
  for (const type of ['click', 'pointerdown', 'mousedown', 'pointerup', 'mouseup']) {
    root.addEventListener(type, (event) => event.stopPropagation());
  }
  document.documentElement.append(host);
  point();
  if (DASHBOARD_ORIGIN !== null) (window.opener as Window | null)?.postMessage({ svc_pick: nonce }, DASHBOARD_ORIGIN);
}

const wholeOf = (element: Element | undefined): Element | undefined => element?.closest(CLICKABLE) ?? element;

// In a frame it would be another page's overlay.
resolveBatch(() => {
  const nonce = IN_ADDRESS.exec(location.hash)?.[1];
  if (nonce !== undefined && top === self) startPicking(nonce);
});
