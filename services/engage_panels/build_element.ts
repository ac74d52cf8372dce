type Child = Node | string | false;

/** An element with properties and children. No text of it is ever read as HTML. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Partial<HTMLElementTagNameMap[Name]> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children.filter((child) => child !== false));
  return made;
}

/** A text of its own, where there is one. */
export const textBlock = (name: 'h2' | 'p', textContent: string): HTMLElement | false =>
  textContent !== '' && element(name, { textContent });
