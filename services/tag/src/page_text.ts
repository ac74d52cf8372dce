import { squeezed } from './masked.ts';

/** Where a visitor's own words may stand: what is typed, chosen, edited or computed from that. */
const PRIVATE =
  'textarea,select,option,output,script,style,[contenteditable],[role=textbox],[role=searchbox],[role=combobox],[data-svc-private]';

function gather(node: Node): string {
  let text = '';
  for (const child of node.childNodes) {
    if (child instanceof Text) text += child.data;
    else if (child instanceof Element && !child.matches(PRIVATE)) text += ` ${gather(child)} `;
  }
  return text;
}

/** What the page says in an element, on one line; never what a person typed there. It forces no layout. */
export function textOf(element: Element): string {
  if (element.closest(PRIVATE)) return '';
  const isButton = element instanceof HTMLInputElement && /^(submit|button|reset)$/.test(element.type);
  return squeezed(isButton ? element.value : gather(element));
}
