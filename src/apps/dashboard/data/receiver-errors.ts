/** Why a receiver did not get a message, in words: the server stores what the network says. */

const words: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name of its address is unknown',
  EAI_AGAIN: 'the name of its address cannot be looked up now',
  ECONNREFUSED: 'nothing listens at its address',
  ECONNRESET: 'it closed the connection',
  EHOSTUNREACH: 'there is no route to its address',
  ENETUNREACH: 'there is no route to its address',
  ETIMEDOUT: 'its address does not answer',
  EPROTO: 'its address does not speak https',
  ERR_SSL_WRONG_VERSION_NUMBER: 'its address does not speak https',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted',
}

/** With the code, which is what other tools and the log say. */
export function describeReceiverError(error: string): string {
  const found = words[error]
  return found === undefined ? error : `${found} (${error})`
}
