/** What of a pixel's hit is not in it. */
export interface PixelArrival {
  /** The visitor's own id of our cookie; null where the site keeps none, or the browser sent none. */
  visitor: string | null;
  /** Makes digests that nobody else can, for hits that have no id. */
  secret: Buffer;
}
