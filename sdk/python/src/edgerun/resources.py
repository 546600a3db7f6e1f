"""Endpoints and volumes, as the `flash` command manages them."""

from __future__ import annotations

from .endpoint import Endpoint
from .lifecycle import managed_by


class ResourceManager:
    """Deploys, updates and deletes endpoints of own images.

    Its methods belong to the `flash` command and raise FlashUsageError, which names the one to use.
    """

    @managed_by("flash deploy")
    async def deploy(self, resource: Endpoint) -> str:
        """Creates the endpoint and returns its id; `flash deploy` does that."""
        return await resource.deploy()

    @managed_by("flash update")
    async def update(self, resource: Endpoint) -> str:
        """Updates the endpoint to its declaration; done by `flash update`."""
        return await resource.update()

    @managed_by("flash undeploy")
    async def undeploy(self, resource: Endpoint) -> None:
        """Deletes the endpoint; `flash undeploy` does that."""
        await resource.undeploy()
