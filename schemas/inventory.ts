/** One element of a page, as schemas/inventory.avsc has it. */
export interface InventoryElement {
  type: string;
  selector: string;
  text: string;
  href: string | null;
  event_hint: string | null;
}

/** A record of the topic `inventory`: what a tag found on one page. Times are milliseconds since 1970 UTC. */
export interface InventoryRecord {
  site_id: string;
  inventory_id: string;
  page: string;
  url: string;
  title: string;
  content_hash: string;
  received_at: number;
  elements: InventoryElement[];
}
