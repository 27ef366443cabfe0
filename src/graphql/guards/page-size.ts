/** Rows per page of a connection. */
export const defaultPageSize = 20
export const maxPageSize = 100
