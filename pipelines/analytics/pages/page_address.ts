// Which properties are the address of an event's page, of which the first counts that the event has.
const NAMES = ['$current_url', 'page_location', 'url'] as const;
const [USUAL, OTHER, LAST] = NAMES.map((name) => `property_texts['${name}']`);

/** SQL over event_rows: the JSON of the address of an event's page. */
export const PAGE_ADDRESS = `multiIf(${USUAL} != '', ${USUAL}, ${OTHER} != '', ${OTHER}, ${LAST})`;

/** Whether a property is the address of a page of the site itself. */
export const isPageAddress = ([name, ...inside]: readonly string[]): boolean =>
  inside.length === 0 && (NAMES as readonly (string | undefined)[]).includes(name);
