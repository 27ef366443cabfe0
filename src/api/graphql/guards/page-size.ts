/** Rows per page of a connection. */
export const defaultPageSize = 20
export const maxPageSize = 100

/** Representations of `_entities`: a gateway asks for the entities of all rows of another subgraph at once. */
export const maxRepresentations = 1_000

/** Points of a series. */
export const defaultPoints = 60
export const maxPoints = 500
