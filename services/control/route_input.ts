/** What a request gives its route, once the route's schemas have checked it. */
export interface Input<Params = unknown, Query = unknown, Body = unknown> {
  params: Params;
  query: Query;
  body: Body;
  /** The If-Match header as received. */
  ifMatch: string | null;
}
