import numpy as np
import torch
import torch.nn.functional as F

try:
    from tqdm.notebook import tqdm
except ImportError:
    def tqdm(x, **kw):
        return x


class Mesh:
    def __init__(self, verts, edges):
        self.verts, self.edges = verts, edges

    def offset_verts(self, delta):
        return Mesh(self.verts + delta, self.edges)

    def verts_packed(self):
        return self.verts


def edge_loss(mesh):
    a, b = mesh.verts[mesh.edges[:, 0]], mesh.verts[mesh.edges[:, 1]]
    return ((a - b).norm(dim=1) ** 2).mean()


def update_mesh_shape_prior_losses(mesh, loss):
    loss["edge"] = edge_loss(mesh)
    loss["laplacian"] = mesh.verts_packed().pow(2).mean()


def silhouette(mesh, scale, camera):
    projected = (mesh.verts_packed() * scale) @ camera
    return torch.sigmoid(projected).mean(dim=0)


losses = {
    "silhouette": {"weight": 1.0, "values": []},
    "edge": {"weight": 1.0, "values": []},
    "laplacian": {"weight": 1.0, "values": []},
}
device = torch.device("cpu")
src_mesh = Mesh(torch.rand(6, 3), torch.randint(0, 6, (8, 2)))
deform_verts = torch.full(src_mesh.verts_packed().shape, 0.0, device=device, requires_grad=True)
scale_xyz = torch.tensor([[1.0, 1.0, 1.0]], device=device, requires_grad=True)
scale = F.relu(scale_xyz)
cameras = [torch.rand(3, 2) for _ in range(4)]
target = [torch.rand(2) for _ in range(4)]
optimizer = torch.optim.SGD([deform_verts, scale_xyz], lr=1.0, momentum=0.9)
for i in tqdm(range(3)):
    optimizer.zero_grad()
    new_src_mesh = src_mesh.offset_verts(deform_verts)
    loss = {k: torch.tensor(0.0, device=device) for k in losses}
    update_mesh_shape_prior_losses(new_src_mesh, loss)
    for j in np.random.permutation(4).tolist()[:2]:
        loss["silhouette"] += ((silhouette(new_src_mesh, scale, cameras[j]) - target[j]) ** 2).mean() / 2
    sum_loss = torch.tensor(0.0, device=device)
    for k, l in loss.items():
        sum_loss += l * losses[k]["weight"]
        losses[k]["values"].append(float(l.detach().cpu()))
    sum_loss.backward()  # error: [carried-graph] # raises: RuntimeError "second time"
    optimizer.step()
