/** Rows per page of a connection. */
export const defaultPageSize = 20
export const maxPageSize = 100

/** Points of a series. */
export const defaultPoints = 60
export const maxPoints = 500
